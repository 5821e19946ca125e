package e2e

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// TestTwoMachines starts two nodes that listen on all interfaces, as on two machines: each in a network namespace, a
// cable between them, and no default route. They tell each other addresses that the other can dial.
func TestTwoMachines(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := apart(ctx, t, `
D=`+binary+`
head -c 32 /dev/urandom > secret
echo '{version: 1, policies: {api: {key: [user], limits: [{rate: 10/h}]}}}' > limits.yaml
unshare --net sleep 200 & OTHER=$!
until [ "$(readlink /proc/$OTHER/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
there="nsenter -t $OTHER -n"
ip link add left type veth peer name right netns $OTHER
ip addr add 10.9.0.1/24 dev left; ip link set left up
$there ip link set lo up; $there ip addr add 10.9.0.2/24 dev right; $there ip link set right up

$D serve --name a --gossip :7946 --secret-file secret --policy limits.yaml & A=$!
$there $D serve --name b --gossip :7946 --secret-file secret --policy limits.yaml --join 10.9.0.1:7946 & B=$!
until $D members --expect 2 && $there $D members --expect 2; do sleep 0.2; done
for i in $(seq 20); do
	$D check api user-$i --cost 7
	$there $D check api user-$i --cost 7 || echo "second denied"
done
kill $A $B; wait $A $B; kill $OTHER
`)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("second denied")); n != 20 || bytes.Contains(out, []byte("degraded")) {
		t.Errorf("%d of 20 keys were one bucket for both nodes:\n%s", n, out)
	}
}
