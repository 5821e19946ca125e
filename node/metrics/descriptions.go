package metrics

import "github.com/prometheus/client_golang/prometheus"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("drossel_"+name, help, labels, nil)
}

var (
	checks      = desc("checks_total", "Checks made at this node, by policy and verdict.", "policy", "verdict")
	forwarded   = desc("checks_forwarded_total", "Checks made at this node that another node decided, by policy.", "policy")
	byRule      = desc("checks_degraded_total", "Checks made at this node that a failure rule decided, by policy.", "policy")
	ruled       = desc("checks_by_rule_total", "Checks made at this node that a failure rule decided, by rule.", "rule")
	decided     = desc("checks_decided_total", "Checks made at this node, by policy and by where decided.", "policy", "where")
	shadow      = desc("shadow_checks_total", "What limits in shadow mode said of checks that were admitted, by policy.", "policy", "verdict")
	unlimited   = desc("checks_without_limit_total", "Checks made at this node that were decided without a bucket, by reason.", "reason")
	edition     = desc("policy_edition", "The number of the edition of the policies that applies; 0 if none does.")
	changes     = desc("policy_changes_total", "Times that other policies were put in place.")
	wrong       = desc("policy_refused_total", "Times that policies were wrong, or could not be had.")
	faults      = desc("forward_faults_total", "Forwarded checks that a failure rule had to decide, by cause.", "cause")
	latency     = desc("forward_duration_seconds", "How long forwarded checks took, from queueing to the answer.")
	served      = desc("checks_served_total", "Checks that came from other nodes.")
	otherRing   = desc("checks_other_ring_total", "Checks that came from nodes with another list of members than this one's.")
	passed      = desc("checks_passed_total", "Checks from other nodes that were passed on: another node decides for their keys.")
	hot         = desc("lease_groups_hot", "Owned groups that other nodes ask for often, and that are lent from.")
	tokensOut   = desc("lease_tokens_out", "Tokens of owned groups that are out on lease.")
	lendable    = desc("lease_tokens_lendable", "Tokens of the hot groups that may be out at a time.")
	lent        = desc("lease_lent_ratio", "Tokens out on lease, as a part of those that may be; 0 if none may.")
	burned      = desc("lease_tokens_burned_total", "Tokens that were lent, and neither spent, as reported, nor returned.")
	recalls     = desc("lease_recalls_total", "Times that all holders of a group were asked to give everything back.")
	asked       = desc("lease_requests_sent_total", "Requests about leases sent to owners: first ones, renewals, returns, and repeated ones.")
	answered    = desc("lease_requests_received_total", "Requests about leases that came from other nodes.")
	purses      = desc("lease_purses", "Groups of other owners that this node has a lease or a deny lease of.")
	groups      = desc("groups", "Groups of buckets in memory, by table.", "table")
	bytes       = desc("table_bytes", "Memory of the arrays of buckets, by table.", "table")
	refused     = desc("groups_refused_total", "Checks of new keys that found no memory, by table.", "table")
	limits      = desc("limits", "Different groups of limits in memory.")
	keyLimits   = desc("keys_with_own_limits", "Owned keys that have limits of their own in the limits store.")
	otherLimits = desc("checks_other_limits_total", "Times that an owner has said that a key has other limits than it was asked for with.")
	members     = desc("ring_members", "Members on the list of this node, those whose majority counts.")
	linksUp     = desc("links_up", "Other members that are connected.")
	partitions  = desc("ring_partitions", "Partitions of the ring.")
	owned       = desc("ring_partitions_owned", "Partitions that this node owns.")
	epoch       = desc("ring_epoch", "The epoch of the members, shortened to 53 bits: nodes that agree have the same.")
)

var (
	debts        = desc("debts_open", "Buckets that failure rules have taken from here, and that their owners are yet to charge.")
	settled      = desc("debts_settled_total", "Buckets that their owners have charged for what failure rules admitted here.")
	storeDebts   = desc("redis_debts_open", "Keys of which something was admitted here while Redis could not be asked, that it is yet to be told of.")
	storeSettled = desc("redis_debts_settled_total", "Debits that Redis was told of what was admitted while it could not be asked.")
	storeDropped = desc("redis_debts_dropped_total", "Checks admitted while Redis could not be asked that it will not be told of, because too many keys were owed.")
	savedBytes   = desc("durable_saved_bytes_total", "Bytes of durable groups written to disk.")
	unsaved      = desc("durable_write_failures_total", "Times that durable groups could not be written to disk; they are lost if all nodes that have them end.")
	restored     = desc("durable_restored_groups_total", "Durable groups that this node went on with as they were on disk, because no node had them in memory.")
	dropped      = desc("debts_dropped_total", "Buckets that will not be charged, because too many were open.")
	moves        = desc("ownership_moves_total", "Partitions handed over, by direction.", "direction")
	mints        = desc("ownership_mints_total", "Partitions taken over from lost owners, by what they began with.", "source")
	losses       = desc("ownership_losses_confirmed_total", "Incarnations of other nodes whose loss this node has confirmed.")
	fences       = desc("ownership_fences_total", "Times that this node ceased to decide, as no majority acknowledged it.")
	renewals     = desc("ownership_renewals_total", "Times that this node went on as another incarnation, which owns nothing.")
	outbid       = desc("ownership_outbid_total", "Partitions given up because another node had a higher claim.")
	authority    = desc("ownership_authority_seconds", "How long this node may decide without hearing from others; 0 if it may not.")
	states       = desc("ownership_partitions", "Partitions by what this node has of them.", "state")
	uncopied     = desc("replication_uncopied_partitions", "Partitions held here of which no other node has confirmed a copy.")
	snapshots    = desc("replication_snapshots", "Snapshots of held partitions that are under way.")
	lag          = desc("replication_lag_seconds", "Age of the oldest change that was seen and that no copy has; 0 if all have.")
	sent         = desc("replication_sent_bytes_total", "Bytes of groups sent to other nodes, as copies and to move.")
	short        = desc("replication_short_total", "Times that groups of others could not all be taken in for lack of memory.")
	transfers    = desc("ownership_transfer_duration_seconds", "How long giving a partition away took, from the first byte to the claim.")
	words        = desc("ownership_words_total", "Messages about ownership sent to other nodes.")
	wordBytes    = desc("ownership_word_bytes_total", "Bytes of them.")
	parked       = desc("checks_parked", "Checks from other nodes that wait for their partition to be decided here.")
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{checks, forwarded, byRule, decided, shadow, unlimited, edition, changes, wrong, faults, latency, served, otherRing, passed,
		hot, tokensOut, lendable, lent, burned, recalls, asked, answered, purses, groups, bytes, refused, limits, keyLimits, otherLimits, members,
		linksUp, partitions, owned, epoch, ruled, debts, settled, dropped, storeDebts, storeSettled, storeDropped, savedBytes, unsaved, restored, moves, mints, losses, fences, renewals, outbid,
		authority, states, uncopied, snapshots, lag, sent, short, transfers, words, wordBytes, parked} {
		out <- d
	}
}
