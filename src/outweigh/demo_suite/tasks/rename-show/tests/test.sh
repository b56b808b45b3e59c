reward=0
if [ "$(sh program.sh)" = "picture" ] && grep -q present library.sh &&
    ! grep -q show library.sh program.sh; then
    reward=1
fi
echo "$reward" > "${OUTWEIGH_REWARD:-/logs/verifier/reward.txt}"
