// Package packages tests real package managers against mirrors of registries on this machine, through the whole system.
package packages
