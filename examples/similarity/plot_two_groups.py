"""
Two groups of networks, measured at two sites
=============================================

Networks of patients and controls come from two scanners, one of which finds more connections, and most patients were
measured there. A test that permutes within sites does not mistake the scanner for the disease.
"""

import numpy as np

import relaxwl

rng = np.random.default_rng(0)
N_REGIONS = 40
POSITIONS = rng.random((N_REGIONS, 2))
NEAR = np.linalg.norm(POSITIONS[:, None] - POSITIONS, axis=2)
LEFT = POSITIONS[:, 0] < 0.5


def brain(site: int, patient: bool, damage: float) -> tuple[int, list[tuple[int, int]]]:
    """Return a network of regions: near ones are connected more often, in patients fewer of those across."""
    chance = np.exp(-5 * NEAR) * (1.0 if site == 0 else 1.2)
    if patient:
        chance = np.where(LEFT[:, None] != LEFT, (1 - damage) * chance, chance)
    return N_REGIONS, np.argwhere(np.triu(rng.random((N_REGIONS, N_REGIONS)) < chance, 1)).tolist()


def study(damage: float) -> tuple[relaxwl.GraphCollection, relaxwl.GraphCollection]:
    """Return the networks of 40 controls and of 40 patients."""
    sides = ((SITES_OF_CONTROLS, False), (SITES_OF_PATIENTS, True))
    made = [[brain(site, patient, damage) for site in sites] for sites, patient in sides]
    return relaxwl.as_collection(made[0]), relaxwl.as_collection(made[1])


SITES_OF_CONTROLS, SITES_OF_PATIENTS = [0] * 28 + [1] * 12, [0] * 12 + [1] * 28

# %%
# A disease without any effect. The sites alone make the groups differ, unless networks are permuted within sites.

controls, patients = study(damage=0.0)
sites = (SITES_OF_CONTROLS, SITES_OF_PATIENTS)
print("p without sites:", relaxwl.two_sample_test(controls, patients, random_state=0).pvalue)
print("p within sites: ", relaxwl.two_sample_test(controls, patients, strata=sites, random_state=0).pvalue)

# %%
# A disease that removes a third of the connections between the halves of the brain.

controls, patients = study(damage=0.35)
result = relaxwl.two_sample_test(controls, patients, strata=sites, random_state=0)
print(result)

# %%
# What differs. Means are weighted such that both groups have the same share of each site.

print(result.explain())
figure = result.to_figure()
