/*
 * box-store: skills, and the directories of LangBot's workspaces.
 */
#include <stdio.h>

int
main(void)
{
	fputs("box-store: a worker of boxd(8), started by it\n", stderr);
	return 1;
}
