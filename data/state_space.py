"""statsmodels' Kalman filter and smoother on the arrays of a kalscan file (prior x1, constant F, Q,
H, R, no offsets): used to fit and to check."""
import numpy as np
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother


def smoother(y, F, Q, H, R, m0, P0):
    """A smoother whose log-likelihood counts every observed entry, as kalscan's does. statsmodels
    calls F transition, Q state_cov, H design and R obs_cov; N(m0, P0) is the first state."""
    nx = len(F)
    s = KalmanSmoother(k_endog=len(H), k_states=nx, transition=F, state_cov=Q, design=H, obs_cov=R,
                       selection=np.eye(nx), tolerance=0, loglikelihood_burn=0)
    s.bind(np.array(y, float).reshape(len(y), -1))
    s.initialize_known(np.asarray(m0, float), np.asarray(P0, float))
    return s
