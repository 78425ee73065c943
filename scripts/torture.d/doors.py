"""Campaign `doors`: attacks by somebody who can write a store's files and has no key, each played once on the real tool.

The attacks are the functions of the files `doors_*.py` whose names begin with `attack_`. What may go wrong, each attack says.
"""

import glob
import importlib
import os
import tempfile


def run(tool, folder, findings, settings):
    here = os.path.dirname(os.path.realpath(__file__))
    for path in sorted(glob.glob(os.path.join(here, "doors_*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        for name, attack in sorted(vars(module).items()):
            if not name.startswith("attack_"):
                continue
            with tempfile.TemporaryDirectory(dir=folder) as place:
                for problem in attack(tool, place):
                    findings.violation("open door", name[7:].replace("_", " "), problem.replace(place, "."))
            findings.count("runs")
