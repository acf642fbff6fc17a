"""How an inference ended."""

import equinox as eqx


class RESULTS(eqx.Enumeration):
    """The outcome of `infer`; compare as `solution.result == ssep.RESULTS.converged`."""

    converged = "The posterior no longer changes."
    max_sweeps_reached = (
        "The posterior still changed in the last sweep. Allow more with `max_sweeps`, or accept it: "
        "`throw=False` returns what was reached."
    )
    improper_cavity = (
        "Some observations could not be used: their cavity is not a distribution, or their target is not finite. "
        "`solution.num_skipped` counts them. Check the observations against the prior (its mean and variance) and the "
        "cubature, and use double precision; `throw=False` returns the posterior of the others."
    )
    non_finite = (
        "The posterior or the energy is not finite. Check the hyperparameters and the scale of the data, and use "
        "double precision; with a fixed `Step` use less damping or `AdaptiveStep()`."
    )
