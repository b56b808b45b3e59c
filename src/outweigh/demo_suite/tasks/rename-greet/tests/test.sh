reward=0
if [ "$(sh program.sh)" = "hello" ] && grep -q welcome library.sh &&
    ! grep -q greet library.sh program.sh; then
    reward=1
fi
echo "$reward" > "${OUTWEIGH_REWARD:-/logs/verifier/reward.txt}"
