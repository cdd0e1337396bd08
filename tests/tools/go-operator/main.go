// A small operator on controller-runtime, as many are: what tests/cluster/test_apiserver_operator.py
// runs against a real API server and against ours.
//
// It uses informers (typed and metadata-only), an index, owned objects, CreateOrUpdate, server-side
// apply, status patches, a finalizer, events of both groups and leader election; for built-in kinds
// controller-runtime talks protobuf.
package main

import (
	"flag"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	namespace := flag.String("namespace", "default", "of the Lease")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	must(clientgo.AddToScheme(scheme))
	addSites(scheme)
	config, err := ctrl.GetConfig()
	must(err)
	config.QPS, config.Burst = 1000, 1000
	// How busy a machine is loses no lease.
	lease, renew, retry := 120*time.Second, 90*time.Second, time.Second
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "site-operator",
		LeaderElectionNamespace:       *namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	must(err)
	ctx := ctrl.SetupSignalHandler()
	must(manager.GetFieldIndexer().IndexField(ctx, &Site{}, pageField, func(o client.Object) []string {
		return []string{o.(*Site).Spec.Page}
	}))
	sites := &sites{
		Client: manager.GetClient(),
		scheme: scheme,
		old:    manager.GetEventRecorderFor("site-operator"), //nolint:staticcheck // both groups are to be seen
		events: manager.GetEventRecorder("site-operator"),
	}
	must(ctrl.NewControllerManagedBy(manager).
		For(&Site{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}, builder.OnlyMetadata).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(sites.ofPage)).
		Complete(sites))
	must(manager.Start(ctx))
}

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot go on")
		os.Exit(1)
	}
}
