"""Time and hyperparameters over several devices equal one device: run by tests/test_sharding.py.

    python sharded.py [process count port]

With arguments, as one of several processes that share their devices.
"""

import sys

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import ssep
from ssep.kernels import Matern32, Matern52, Periodic

jax.config.update("jax_enable_x64", True)
if len(sys.argv) > 1:
    process, count, port = map(int, sys.argv[1:])
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", count, process)

MESH = Mesh(np.array(jax.devices()), ("time",))
assert MESH.shape["time"] == 8


def everywhere(tree):
    """The same arrays on all devices of all processes."""
    replicated = NamedSharding(MESH, PartitionSpec())
    return jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf), replicated), tree)


def close(got, wanted):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=1e-8), got, wanted)


rng = np.random.default_rng(0)
t = np.sort(rng.uniform(0, 40, 150))
data = ssep.Data(t, rng.poisson(np.exp(np.sin(t))).astype(float))
field = ssep.Data(t, rng.poisson(1.0, t.size).astype(float), r=rng.uniform(-1, 1, t.size))
CASES = {
    "blocks": (ssep.SDEPrior(Matern52(1.0, 3.0) + Periodic(0.5, 1.0, 6.0, 3) * Matern32(1.0, 9.0), mean=0.1), data),
    "field": (ssep.SpatioTemporalPrior(Matern32(1.0, 3.0), Matern52(1.0, 1.0), np.linspace(-1, 1, 4)), field),
}
lik, rule = ssep.likelihoods.Poisson(), ssep.CVI()


def energy_and_gradient(prior, data, sites, smoother):
    def energy(prior):
        posterior, moved, energy = ssep.sweep(prior, lik, sites, rule, data, smoother=smoother)
        return energy, (posterior, moved)

    return jax.value_and_grad(energy, has_aux=True)(prior)


for name, (prior, observed) in CASES.items():
    sites = ssep.sweep(prior, lik, None, rule, observed)[1]
    local = jax.jit(energy_and_gradient, static_argnums=3)(prior, observed, sites, ssep.Sequential())
    spread = jax.jit(energy_and_gradient, static_argnums=3)(*everywhere((prior, observed, sites)), ssep.Sharded(MESH))
    (value, (posterior, moved)), gradient = spread
    # Each process holds its own part of what is spread over time; together they are gathered for the comparison.
    gathered = jax.jit(lambda tree: tree, out_shardings=NamedSharding(MESH, PartitionSpec()))(
        ((value, (posterior, moved)), gradient)
    )
    close(gathered, local)
    print(name, "agrees")

# A grid of hyperparameters over the same devices, by JAX's own means.
lengthscales = np.linspace(1.0, 5.0, 16)


def energy_at(lengthscale, data):
    return ssep.sweep(ssep.SDEPrior(Matern32(1.0, lengthscale)), lik, None, rule, data)[2]


local = jax.jit(jax.vmap(energy_at, (0, None)))(lengthscales, data)
over_devices = jax.device_put(lengthscales, NamedSharding(MESH, PartitionSpec("time")))
spread = jax.jit(jax.vmap(energy_at, (0, None)))(over_devices, everywhere(data))
gathered = jax.jit(lambda tree: tree, out_shardings=NamedSharding(MESH, PartitionSpec()))(spread)
close(gathered, local)
print("grid agrees")
