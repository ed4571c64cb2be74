"""Features of the CPU: masks reach the process, are part of a run and its key, and what has none is a hole."""

import json

import pytest

from tests.support.synthetic import record
from tlsmem.config import definitions, matrix
from tlsmem.config.run import Run
from tlsmem.run import cpu_features
from tlsmem.schema import records
from tlsmem.stats.series import Setting

MASK = "~0x0200000000000000:~0x0000020000000000"


def run(stack: str, cpu: str = "no-aes", **changes) -> Run:
    return Run(stack, "tls13-rsa-aes256", "system", "all", 2, "rss", 1, cpu=cpu, **changes)


def test_a_stack_has_the_variables_of_its_mask_and_a_mixed_pair_both():
    features = cpu_features.features(run("openssl@3.5.5"))
    assert (features.name, features.variables) == ("no-aes", {"OPENSSL_ia32cap": MASK})
    pair = run("openssl@3.5.5", peer="gnutls@system", roles="split")
    assert set(cpu_features.features(pair).variables) == {
        "OPENSSL_ia32cap",
        "GNUTLS_CPUID_OVERRIDE",
        "NETTLE_FAT_OVERRIDE",
    }
    assert cpu_features.missing_mask_reason(pair) is None and cpu_features.features(run("openssl@3.5.5", "all")) is None


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (run("rustls+ring@0.23.46"), "rustls+ring@0.23.46 has no mask of its own for features of the CPU"),
        (run("openssl@3.5.5", peer="rustls+ring@0.23.46"), "rustls+ring@0.23.46 has no mask of its own"),
        (run("gnutls@system", "no-avx512"), "the mask of gnutls@system has nothing for it"),
    ],
)
def test_what_has_no_mask_is_unsupported_with_the_reason(one, why):
    assert (
        cpu_features.missing_mask_reason(one).startswith(f"CPU={one.cpu}: {why}")
        and cpu_features.features(one).variables == {}
    )


def test_every_mask_that_a_stack_names_is_there():
    named = {stack.mask for stack in definitions.stacks().values() if stack.mask}
    assert named <= set(definitions.cpus())


def test_features_are_part_of_the_key_the_line_and_the_setting():
    plain = record("openssl@3.5.5", "tls13-rsa-aes256", 100)
    kept = plain.model_copy(update={"cpu_features": cpu_features.features(run("openssl@3.5.5"))})
    assert records.run_key(kept.model_dump()) != records.run_key(plain.model_dump())
    assert "cpu_features" not in json.loads(plain.to_json_line())
    assert records.RecordLine.model_validate_json(kept.to_json_line()) == kept
    assert (Setting.from_record(plain).cpu, Setting.from_record(kept).cpu) == ("all", "no-aes")


def test_a_campaign_multiplies_by_them_and_says_so():
    asked = matrix.campaign_runs(definitions.campaigns()["mem"].model_copy(update={"cpus": ["all", "no-aes"]}))
    assert len(asked) == 2 * len(matrix.campaign_runs(definitions.campaigns()["mem"]))
    assert str(run("a@1")) == "a@1 tls13-rsa-aes256 2 sessions rss CPU no-aes"


@pytest.mark.thorough
def test_a_run_without_a_mask_is_recorded_as_unsupported_and_one_with_it_is_another_run(project):
    stacks = project.install("obey", "obey2")
    text = (project.root / "memtest/stacks.toml").read_text()
    (project.root / "memtest/stacks.toml").write_text(text.replace('["obey@1"]\n', '["obey@1"]\nmask = "openssl"\n'))
    done = project.measure("--heap=0", "--cpu=no-aes", stacks=stacks, n=2)
    assert done.returncode == 0, done.stderr
    found = {one.stack: one for one in project.recorded()}
    assert found["obey2@1"].reason == "CPU=no-aes: obey2@1 has no mask of its own for features of the CPU"
    assert (found["obey@1"].status, found["obey@1"].cpu_features.variables) == ("measured", {"OPENSSL_ia32cap": MASK})
    assert "2 to go" in project.measure("--heap=0", "--list", stacks=stacks, n=2).stdout
    again = project.measure("--heap=0", "--cpu=no-aes", stacks=stacks, n=2)
    assert "2 runs, 2 already recorded" in again.stderr
