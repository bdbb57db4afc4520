"""The Python lines of docs/liquid-networks.md, run: a model of ncps, saved by them, gives the same outputs here.

    ncps_file.py ELEGANS     needs torch, ncps, safetensors and numpy; says so and exits with 77 where one is missing
"""
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import safetensors.torch  # noqa: F401
    import torch
    from ncps.torch import CfC
    from ncps.wirings import AutoNCP
except ImportError as missing:
    print(f"skip: {missing}")
    sys.exit(77)

program = os.path.abspath(sys.argv[1])
page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/liquid-networks.md")
lines = re.search(r"```python\n(.*?)```", open(page).read(), re.S).group(1)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    torch.manual_seed(4)
    torch.save(CfC(16, AutoNCP(64, 16)).state_dict(), "policy.pt")
    model = CfC(16, AutoNCP(64, 16))
    model.load_state_dict(torch.load("policy.pt"))
    exec(lines, {"model": model})
    x = np.random.default_rng(1).normal(size=(20, 16)).astype(np.float32)
    np.save("x.npy", x)
    subprocess.run([program, "run", "policy.safetensors", "--input", "x.npy", "--output", "y.npy"],
                   check=True, stdout=subprocess.DEVNULL)
    with torch.no_grad():
        wanted = model(torch.from_numpy(x)[None])[0][0].numpy()
    worst = float(abs(wanted - np.load("y.npy")).max())
    print(f"ncps' policy.pt here: 20 steps, worst difference {worst:.1e}")
    sys.exit(worst > 1e-5)
