package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"github.com/planktonml/plankton/internal/affinity"
)

// NearCPUs returns the CPUs that have the shortest way to the GPU, as the kernel of Linux
// says: those of its NUMA node. It returns none where nobody knows: on a virtual machine
// that does not show where the GPU is, and on other systems.
func (d *Device) NearCPUs() ([]int, error) { return nearCPUs(os.DirFS("/sys"), d.info.PCI) }

// NearCPUs is Device.NearCPUs of GPU number ordinal, which need not be open. The error
// matches ErrNoDriver or ErrNoDevice, or is an *Error of the driver.
func NearCPUs(ordinal int) ([]int, error) {
	drv, err := openDriver(defaultLibrary)
	if err != nil {
		return nil, err
	}
	gpu, err := drv.find(ordinal)
	if err != nil {
		return nil, err
	}
	return nearCPUs(os.DirFS("/sys"), drv.pci(gpu))
}

// pci returns a GPU's address on the PCI bus as sysfs writes it, such as 0000:3b:00.0, ""
// where the driver does not say.
func (d *driver) pci(gpu int32) string {
	name := make([]byte, 32)
	if invoke(d.deviceGetPCIBusID, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(gpu)) != codeSuccess {
		return ""
	}
	text, _, _ := strings.Cut(string(name), "\x00")
	return strings.ToLower(text)
}

// nearCPUs reads the list in sysfs.
func nearCPUs(sys fs.FS, pci string) ([]int, error) {
	if pci == "" {
		return nil, nil
	}
	name := "bus/pci/devices/" + pci + "/local_cpulist"
	text, err := fs.ReadFile(sys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cpus, err := affinity.ParseList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("/sys/%s: %w", name, err)
	}
	return cpus, nil
}
