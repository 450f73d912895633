/* Network off is an empty namespace with loopback. */
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "fd.h"
#include "sandbox.h"

int
netns_loopback_up(struct err *e)
{
	AUTO_FD int  s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_flags = IFF_UP | IFF_RUNNING };

	strcpy(lo.ifr_name, "lo");
	if (s == -1 || ioctl(s, SIOCSIFFLAGS, &lo) == -1)
		return err_sys(e, "bring loopback up");
	return 0;
}
