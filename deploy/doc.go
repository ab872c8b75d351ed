// Package deploy has nothing but tests of what starts workers in other processes: the manifests
// for Kubernetes, and the scripts for Slurm, mpirun and HAProxy beside this file.
// docs/remote.md describes them.
//
// Tests that need programs of Debian run when PLANKTON_DEPLOY names them, as in
//
//	PLANKTON_DEPLOY=haproxy,mpirun,slurm go test ./deploy
//
// with the packages haproxy, openmpi-bin, slurmctld and slurmd; Slurm's daemons are started as root.
package deploy
