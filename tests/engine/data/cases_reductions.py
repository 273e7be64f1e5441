"""Expressions on reductions, scans, sorting, sets and random distributions; see cases.py."""

FLOATS = ["float16", "bfloat16", "float32", "float64"]
TABLE = "E.tensor([[1, 3, 2, 0], [0, 3, 5, 1]]).to(E.{})"
ODD = "E.tensor([1.0, float('nan'), -1e30, float('inf'), -0.0, 0.0, float('nan'), 1.0])"

# {} is the tensor.
OVER_DTYPES = [
    "{}.sum(1)",
    "{}.prod(0)",
    "{}.cumsum(1)",
    "{}.cumprod(1)",
    "E.cummax({}, 1)",
    "E.cummin({}, 1)",
    "E.aminmax({}, dim=0)",
    "{}.argmax(1)",
    "E.median({}, 1)",
    "E.mode({}, 1)",
    "E.kthvalue({}, 2)",
    "E.sort({}, descending=True)",
    "E.topk({}, 2)",
    "{}.unique(return_inverse=True, return_counts=True)",
    "E.unique_consecutive({}, dim=1)",
    "E.isin({}, 3)",
    "E.searchsorted(E.msort({}.t()).t().contiguous(), {})",
    "E.diff({})",
    "E.count_nonzero({}, dim=0)",
]
OVER_FLOATS = [
    "{}.mean()",
    "{}.var(1)",
    "E.std_mean({}, 0)",
    "E.logsumexp({}, 1)",
    "E.logcumsumexp({}, 1)",
    "{}.norm(3, dim=1)",
    "E.renorm({}, 2, 0, 1.5)",
    "E.segment_reduce({}, 'mean', lengths=E.tensor([1, 1]))",
    "E.histc({}, 4)",
    "E.trapezoid({})",
]
OVER_ODD = [
    "E.sort({}, stable=True)",
    "E.sort({}, descending=True, stable=True)",
    "E.max({}, 0)",
    "E.argmin({})",
    "E.cummax({}, 0)[0]",
    "E.nanmedian({})",
    "E.median({})",
    "E.nansum({})",
    "E.nanquantile({}, 0.5)",
    "E.quantile({}, 0.5)",
    "E.logcumsumexp({}, 0)",
    "E.unique({})",
    "E.bucketize({}, E.tensor([0.0, 1.0]), right=True)",
]
OTHERS = [
    "E.tensor([1e30, 2e30, 3e30]).std()",
    "E.tensor([256.0] * 1000).bfloat16().sum()",
    "E.gradient(E.tensor([1.0, 4.0, 9.0, 16.0]), spacing=(E.tensor([0.0, 1.0, 3.0, 4.0]),))",
    "E.gradient(E.tensor([[1.0, 4.0, 9.0], [16.0, 2.0, 3.0]]), spacing=[2.0, 3.0])",
    "E.cov(E.tensor([[1.0, 2.0, 3.0], [4.0, 1.0, 0.0]]), fweights=E.tensor([1, 2, 3]))",
    "E.corrcoef(E.tensor([[1.0, 2.0, 3.0], [4.0, 1.0, 0.0]]))",
    "E.bincount(E.tensor([1, 1, 3]), weights=E.tensor([0.5, 0.25, 2.0]), minlength=6)",
    "E.histogram(E.tensor([1.0, 2.0, 1.0]), 4, range=(0.0, 3.0), density=True)",
    "E.histogramdd(E.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), bins=[2, 3])[0]",
    "E.segment_reduce(E.tensor([1.0, 2.0, 3.0]), 'max', offsets=E.tensor([0, 1, 3]))",
    "E.any(E.tensor([[0, 1], [0, 0]]), (0, 1))",
    "E.unique(E.tensor([[2, 1], [1, 2], [2, 1]]), dim=0, return_counts=True)",
    "E.bincount(E.tensor([-1]))",
    "E.topk(E.tensor([1.0]), 2)",
    "E.quantile(E.tensor([1.0]), 1.5)",
    "E.renorm(E.tensor([1.0]), 2, 0, 1)",
    "E.median(E.zeros(2, 0), 1)",
    "E.segment_reduce(E.tensor([1.0, 2.0]), 'sum', lengths=E.tensor([1]))",
]
REDUCTIONS = (
    [
        f.replace("{}", TABLE.format(d))
        for f in OVER_DTYPES
        for d in ["uint8", "int32", "int64", *FLOATS]
        if not ("isin" in f and d == "bfloat16")
    ]
    + [
        f.replace("{}", TABLE.format(d))
        for f in OVER_FLOATS
        for d in FLOATS
        if d[-2:] != "16" or "histc" not in f
    ]
    + [f.replace("{}", ODD) for f in OVER_ODD]
    + [
        f"E.quantile(E.tensor([[3.0, 1.0, 2.0], [5.0, 0.0, 1.0]]), E.tensor([0.37, 1.0]), "
        f"dim={d}, keepdim={k}, interpolation='{q}')"
        for q in ["linear", "lower", "higher", "midpoint", "nearest"]
        for d, k in [(None, True), (0, False), (1, True)]
    ]
    + OTHERS
)

# Whole numbers are drawn for every dtype, others for the floating ones.
DRAWS = ["random_()", "random_(1, None)", "random_(0, 100)", "geometric_(0.3)", "bernoulli_(0.3)"]
DRAWS_FLOAT = [
    "uniform_(1, 3)",
    "normal_(2, 3)",
    "exponential_(2.5)",
    "cauchy_(1, 3)",
    "log_normal_(0, 0.5)",
]
DISTRIBUTIONS = (
    [
        f"E.empty(4, dtype=E.{d}).{f}"
        for f in DRAWS
        for d in ["uint8", "int8", "int16", "int32", "int64", *FLOATS]
    ]
    + [f"E.empty({n}, dtype=E.{d}).{f}" for f in DRAWS_FLOAT for d in FLOATS for n in (3, 21)]
    + [f"E.poisson(E.full((5,), {r}, dtype=E.{d}))" for r in (3.7, 60.0) for d in FLOATS]
    + [
        f"E.binomial(E.full((5,), {n}), E.full((5,), {p}))"
        for n in (9.0, 500.0)
        for p in (0.01, 0.3, 0.9)
    ]
    + [
        f"E.multinomial(E.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 4.0]]).to(E.{d}), {s})"
        for d in FLOATS
        for s in ("1", "2", "5, True")
    ]
    + [
        "E.normal(E.tensor([1.0, 2.0]), E.tensor([1.0, 2.0]))",
        "E.normal(0.0, E.tensor([1.0, 2.0]))",
        "E.normal(E.zeros(20), 2.0)",
        "E.randint_like(E.ones(3), 5)",
        "E.rand_like(E.ones(3, dtype=E.float16))",
        "E.randperm(9, dtype=E.int16)",
        "E.randint(2**30, (3,), dtype=E.int32)",
        "E.empty(4, 5).t().exponential_()",
        "E.empty(3, 8)[:, ::2].exponential_()",
        "E.empty(4, dtype=E.int32).bernoulli_(E.tensor([0.2, 0.9, 0.1, 0.4]))",
        "(E.randn(3), E.rand(2), E.randn(1))",
        "E.get_rng_state()[8:64]",
        "(E.randn(3), E.get_rng_state()[:40], E.get_rng_state()[5016:])",
        "E.empty(4, dtype=E.uint8).random_(5, 257)",
        "E.empty(4).exponential_(0)",
        "E.multinomial(E.tensor([1.0, -2.0]), 1)",
        "E.randperm(300, dtype=E.uint8)",
    ]
)
