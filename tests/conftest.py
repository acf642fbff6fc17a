import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiling is most of the time that the tests take, and their data are tiny: spend less on optimising. A version of
# jaxlib that does not know one of these flags names it when it stops; set XLA_FLAGS to do without.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)

import hypothesis
import jax
import pytest

jax.config.update("jax_enable_x64", True)

hypothesis.settings.register_profile(
    "ssep",
    deadline=None,
    derandomize=True,
    print_blob=True,
    phases=[phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain],
    max_examples=int(os.environ.get("SSEP_EXAMPLES", "8")),
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("ssep")


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_programs():
    """Compiled programs of one module are of no use to the next, and add up to gigabytes."""
    yield
    jax.clear_caches()
