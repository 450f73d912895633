/* A rule of a client: whatever it is, it is refused or it is one, and a good one reads the same once more. */
#include <assert.h>

#include "fuzz.h"
#include "supervisor/config/netrule.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char          *text = strndup((const char *)bytes, n);
	struct netrule once, again;
	struct err     e;

	if (text == NULL)
		return 0;
	if (netrule_parse(&once, text, &e) == 0) {
		assert(once.port_low <= once.port_high && once.port_high <= 65535);
		assert(*once.name == '\0' || *once.address == '\0');
		assert(netrule_parse(&again, once.text, &e) == 0);
		assert(strcmp(once.name, again.name) == 0 && strcmp(once.address, again.address) == 0 &&
		       once.prefix == again.prefix && once.action == again.action);
	} else
		assert(e.code == E_INVALID && *e.text != '\0');
	free(text);
	return 0;
}
