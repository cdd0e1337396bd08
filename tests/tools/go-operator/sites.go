package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "proof.leeboard.dev/goodbye"
	pageField = "spec.page"
	graves    = "graves"
)

type sites struct {
	client.Client
	scheme *runtime.Scheme
	old    record.EventRecorder
	events events.EventRecorder
}

// ofPage finds, by the index, the Sites that show a ConfigMap.
func (s *sites) ofPage(ctx context.Context, page client.Object) []reconcile.Request {
	var list SiteList
	err := s.List(ctx, &list, client.InNamespace(page.GetNamespace()),
		client.MatchingFields{pageField: page.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Sites")
	}
	requests := []reconcile.Request{}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

func (s *sites) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var site Site
	if err := s.Get(ctx, request.NamespacedName, &site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := s.serve(ctx, &site)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // it is told to end; whoever leads next goes on
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: 1}, nil // the cache was behind; not an error
	}
	return reconcile.Result{}, err
}

func (s *sites) serve(ctx context.Context, site *Site) error {
	if !site.DeletionTimestamp.IsZero() {
		return s.bury(ctx, site)
	}
	if !controllerutil.ContainsFinalizer(site, finalizer) {
		before := site.DeepCopy()
		controllerutil.AddFinalizer(site, finalizer)
		return s.Patch(ctx, site, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	page, err := s.page(ctx, site)
	if err != nil {
		return err
	}
	deployment, err := s.deploy(ctx, site, page)
	if err != nil {
		return err
	}
	if err := s.expose(ctx, site); err != nil {
		return err
	}
	return s.tell(ctx, site, deployment)
}

// page is the version of what is shown: a change of it rolls the Deployment.
func (s *sites) page(ctx context.Context, site *Site) (string, error) {
	var page corev1.ConfigMap
	err := s.Get(ctx, types.NamespacedName{Namespace: site.Namespace, Name: site.Spec.Page}, &page)
	return page.Data["page"], client.IgnoreNotFound(err)
}

func (s *sites) deploy(ctx context.Context, site *Site, page string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	labels := map[string]string{"site": site.Name}
	result, err := controllerutil.CreateOrUpdate(ctx, s.Client, d, func() error {
		d.Labels = labels
		d.Spec.Replicas = &site.Spec.Replicas
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels = labels
		d.Spec.Template.Annotations = map[string]string{"page": page}
		if len(d.Spec.Template.Spec.Containers) == 0 {
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		d.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
		return controllerutil.SetControllerReference(site, d, s.scheme)
	})
	if err == nil && result == controllerutil.OperationResultCreated {
		s.old.Eventf(site, corev1.EventTypeNormal, "Deployed", "made Deployment %s", d.Name)
		s.events.Eventf(site, d, corev1.EventTypeNormal, "Deployed", "Create", "made Deployment %s", d.Name)
	}
	return d, err
}

func (s *sites) expose(ctx context.Context, site *Site) error {
	service := coreapply.Service(site.Name, site.Namespace).
		WithLabels(map[string]string{"site": site.Name}).
		WithOwnerReferences(metaapply.OwnerReference().
			WithAPIVersion(group.String()).WithKind("Site").WithName(site.Name).WithUID(site.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(coreapply.ServiceSpec().
			WithSelector(map[string]string{"site": site.Name}).
			WithPorts(coreapply.ServicePort().WithName("http").WithPort(80)))
	return s.Apply(ctx, service, client.FieldOwner("site-operator"), client.ForceOwnership)
}

func (s *sites) tell(ctx context.Context, site *Site, d *appsv1.Deployment) error {
	before := site.DeepCopy()
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Starting",
		ObservedGeneration: site.Generation,
		Message:            fmt.Sprintf("%d of %d replicas", d.Status.ReadyReplicas, site.Spec.Replicas)}
	if d.Status.ReadyReplicas >= site.Spec.Replicas {
		condition.Status, condition.Reason = metav1.ConditionTrue, "Serving"
	}
	site.Status.ObservedGeneration = site.Generation
	site.Status.ReadyReplicas = d.Status.ReadyReplicas
	if !meta.SetStatusCondition(&site.Status.Conditions, condition) &&
		before.Status.ObservedGeneration == site.Generation {
		return nil
	}
	return s.Status().Patch(ctx, site, client.MergeFrom(before))
}

// bury notes the end of a Site in a ConfigMap that outlives it.
func (s *sites) bury(ctx context.Context, site *Site) error {
	if !controllerutil.ContainsFinalizer(site, finalizer) {
		return nil
	}
	stone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: graves}}
	_, err := controllerutil.CreateOrPatch(ctx, s.Client, stone, func() error {
		if stone.Data == nil {
			stone.Data = map[string]string{}
		}
		stone.Data[site.Name] = site.Spec.Image
		return nil
	})
	if err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(site, finalizer)
	return client.IgnoreNotFound(s.Update(ctx, site))
}
