"""Classes and functions of scikit-learn that model files may contain.

Trees, neighbours and k-means of scikit-learn are not in the list, because their compiled code uses
indices of the file without checks.
"""

from __future__ import annotations

CLASSES = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor make_column_selector",
    "sklearn.cross_decomposition": "PLSRegression",
    "sklearn.decomposition": """FactorAnalysis FastICA IncrementalPCA KernelPCA NMF PCA SparsePCA
        TruncatedSVD""",
    "sklearn.ensemble": """AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor
        StackingClassifier StackingRegressor VotingClassifier VotingRegressor""",
    "sklearn.feature_selection": """GenericUnivariateSelect RFE RFECV SelectFdr SelectFpr
        SelectFromModel SelectFwe SelectKBest SelectPercentile SequentialFeatureSelector
        VarianceThreshold""",
    "sklearn.impute": "IterativeImputer KNNImputer MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": """AdditiveChi2Sampler Nystroem PolynomialCountSketch
        RBFSampler SkewedChi2Sampler""",
    "sklearn.linear_model": """BayesianRidge ElasticNet ElasticNetCV Lasso LassoCV LinearRegression
        LogisticRegression Ridge RidgeCV RidgeClassifier""",
    "sklearn.model_selection": """FixedThresholdClassifier GridSearchCV GroupKFold
        GroupShuffleSplit HalvingGridSearchCV HalvingRandomSearchCV KFold LeaveOneGroupOut
        LeaveOneOut PredefinedSplit RandomizedSearchCV RepeatedKFold RepeatedStratifiedKFold
        ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit
        TunedThresholdClassifierCV""",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": """ClassifierChain MultiOutputClassifier MultiOutputRegressor
        RegressorChain""",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": """Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer
        LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder
        OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler
        SplineTransformer StandardScaler TargetEncoder""",
    "sklearn.random_projection": "GaussianRandomProjection",
}
INNER = {  # classes of fitted attributes
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.impute._iterative": "_ImputerTriplet",
    "sklearn.metrics._scorer": "_CurveScorer _MultimetricScorer _PassthroughScorer _Scorer",
    "sklearn.model_selection._search_successive_halving": "_SubsampleMetaSplitter",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}
FUNCTIONS = {
    "sklearn.feature_selection": """chi2 f_classif f_regression mutual_info_classif
        mutual_info_regression r_regression""",
    "sklearn.metrics": """accuracy_score average_precision_score balanced_accuracy_score
        brier_score_loss d2_absolute_error_score explained_variance_score f1_score jaccard_score
        log_loss matthews_corrcoef max_error mean_absolute_error mean_absolute_percentage_error
        mean_gamma_deviance mean_pinball_loss mean_poisson_deviance mean_squared_error
        mean_squared_log_error median_absolute_error precision_score r2_score recall_score
        roc_auc_score root_mean_squared_error root_mean_squared_log_error top_k_accuracy_score""",
}
ENABLED_BY = {  # available only after another module was imported
    "sklearn.impute.IterativeImputer": "sklearn.experimental.enable_iterative_imputer",
    "sklearn.model_selection.HalvingGridSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "sklearn.model_selection.HalvingRandomSearchCV": (
        "sklearn.experimental.enable_halving_search_cv"
    ),
}
TRAINING_ROWS = {"KernelPCA": "X_fit_", "KNNImputer": "_fit_X", "Nystroem": "components_"}
