/* auth = none: no token is asked for, and who came first cannot lock others out for ever. */
#include "authbox.h"
#include "tap.h"

#define REFUSED "unauthorized: Unauthorized"

TEST(without_an_instance)
{
	authbox_open("auth = none");
	uint64_t stranger = by_http();
	is(try_rpc(stranger, "", "bogus"), "", "the first is let in");
	is(try_rpc(by_http(), "anything", "inst-1"), REFUSED, "another instance is not, as long as that is connected");
	say_gone(stranger);
	is(try_rpc(by_http(), "", "inst-1"), "", "when it is gone the next is");
	is(status_text("trusted_instance"), "inst-1", "and trusted");
	is(try_rpc(by_http(), "", "bogus"), REFUSED, "the first has lost its place");
	is(status_text("token_file"), "", "there is no token");
	authbox_close();
}

TEST(with_one)
{
	authbox_open("auth = none\ntrusted_instance = inst-1");
	is(try_rpc(by_http(), "", "bogus"), REFUSED,
	    "configured: no other takes its place, though it is not connected");
	is(try_rpc(by_http(), "", "inst-1"), "", "configured: it comes when it likes");
	authbox_close();
}

int
main(int argc, char **argv)
{
	authbox_main(argv);
	run_tests();
	done_testing();
}
