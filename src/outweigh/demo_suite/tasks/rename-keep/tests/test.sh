reward=0
if [ "$(sh program.sh)" = "parcel" ] && grep -q store library.sh &&
    ! grep -q keep library.sh program.sh; then
    reward=1
fi
echo "$reward" > "${OUTWEIGH_REWARD:-/logs/verifier/reward.txt}"
