"""The service on the page about deployment answers requests as its model does."""

import json
import re
import threading
from pathlib import Path
from urllib import error, request

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import posterity
from posterity import tables

PAGE = (Path(__file__).parents[2] / "docs/deploy.md").read_text("utf-8")
SERVICE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)[0]
ROW = json.loads(re.search(r"^curl -d '(.*?)'", PAGE, re.M)[1])


@pytest.fixture(scope="module")
def model():
    patients = load_diabetes(as_frame=True, scaled=False)
    table = patients.data.assign(progression=patients.target)
    schema = tables.infer(table, "progression")
    return tables.TableModel(posterity.BayesianLinearRegression(), schema).fit(table)


@pytest.fixture(scope="module")
def address(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("service") / "progression.posterity"
    posterity.save(model, path)
    names = {"__name__": "service"}
    exec(SERVICE, names)
    names["Service"].log_message = lambda *_: None
    server = names["make_server"](path, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def post(address, text):
    with request.urlopen(request.Request(address, text.encode()), timeout=60) as answer:
        return json.load(answer)


def test_a_row_gets_the_interval_of_the_model(address, model):
    lower, upper = model.predict_interval(ROW)
    answer = post(address, json.dumps(ROW))
    np.testing.assert_array_equal(answer["lower"], lower)
    np.testing.assert_array_equal(answer["upper"], upper)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({name: ROW[name] for name in ROW if name != "bmi"}), "bmi"),
        (json.dumps(ROW | {"bp": ["high"]}), "high"),
        (json.dumps({name: [] for name in ROW}), "no rows"),
        ("[1, 2]", "table"),
        ("{", "line 1"),
    ],
)
def test_a_bad_request_is_answered_with_a_sentence(address, text, said):
    with pytest.raises(error.HTTPError) as caught:
        post(address, text)
    with caught.value as answer:
        assert answer.code == 400
        assert said in json.load(answer)["error"]
