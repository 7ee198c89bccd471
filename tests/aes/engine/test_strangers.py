"""A model folder of a stranger never gets its code run, whatever stands on standard input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from aes.engine.model import BaseModel
from aes.engine.codec import ChatCodec
for read in (BaseModel.inspect, ChatCodec.load):
    try:
        read(sys.argv[1])
    except Exception as error:
        print(type(error).__name__)
"""


def test_no_code_of_a_model_folder_is_run_even_if_somebody_says_yes(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.mkdir()
    auto = {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model", "AutoTokenizer": ["code.Token", None]}
    (evil / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": auto}))
    (evil / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Evil", "auto_map": auto}))
    (evil / "code.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Config: pass\nclass Token: pass\n")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(evil)], input="y\ny\ny\n", capture_output=True, text=True, check=True
    )
    assert not ran.exists()
    assert done.stdout.split() == ["DataError", "DataError"], done.stderr
