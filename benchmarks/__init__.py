"""posterity beside its peers: same work, same data, same run.

A benchmark is a module of this package with a function ``run(options)``; ``BENCHMARKS`` lists
those that ``python -m benchmarks`` knows. Most are a table of values for ``harness.run``.
"""

BENCHMARKS = (
    *("nist", "linear", "bayesian_linear", "out_of_core"),
    *("gaussian_process", "gaussian_process_evaluation", "kernel_ridge", "uci_regression"),
    *("structured_kernels", "logistic", "out_of_core_logistic", "gaussian_process_classification"),
    *(
        "classification_sets",
        "posterior_accuracy",
        "few_rows",
        "relevance_vectors",
        "relevance_sets",
    ),
    *(
        "pose",
        "streamed_vectors",
        "forests",
        "forest_groups",
        "forest_rows",
        "boosting",
        "boosted_trees",
        "regression_forests",
    ),
    *("principal", "latent_variables", "oil_flow", "motion"),
    *(
        "saving",
        "latency",
        "mixed_effects",
        "command",
        "choosing",
        "vision_body_parts",
        "vision_surfaces",
        "vision_pose",
    ),
    *("vision_walking", "vision_segmentation", "vision_patches", "vision_tracks"),
    *("vision_boosting", "vision_faces", "vision_odd_files", "vision_pedestrians"),
    *("dask_peers", "dask_rows", "dask_scaling", "durations"),
)
