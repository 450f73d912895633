#!/bin/sh
# A hundred thousand dead orphans, as fast as the limit of processes lets them be made: init reaps them and still answers.
. t/lib/sh/boxd.sh
BOX_SEC=120
boxd_start
boxctl create --name s --pids 100 --memory 96 --cpus 2 >/dev/null

# Each of them leaves fifty dead children behind when it ends, and they are init's; who finds no room waits for some.
cat >"$D/zombies.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	long made = 0, want = atol(argv[argc - 1]);

	while (made < want) {
		int   n = 0, status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			while (n < 50) {
				pid_t child = vfork();
				if (child == 0)
					_exit(0);
				if (child == -1)
					break;
				n++;
			}
			_exit(n);
		}
		if (pid == -1 || waitpid(pid, &status, 0) == -1 || WEXITSTATUS(status) == 0)
			usleep(1000);
		else
			made += WEXITSTATUS(status);
		if (made % 1000 < 50) {
			printf("%ld\n", made);
			fflush(stdout);
		}
	}
	printf("enough\n");
	return 0;
}
EOF
cc -O1 -o "$D/zombies" "$D/zombies.c" 2>"$D/cc.err" || plan skip_all "no compiler"
box exec s -i -c 'cat >/tmp/zombies; chmod +x /tmp/zombies' <"$D/zombies"
box exec s -t 110 -- /tmp/zombies 100000 >"$D/out" 2>"$D/err" &
bomb=$!
eventually grep -q 000 "$D/out"
asked=0 wrong=0
while ! _ended $bomb; do
	got=$(box exec s -t 60 -- echo alive 2>&1)
	asked=$((asked + 1))
	case $got in alive|*"pids limit"*|*"limit of processes"*) ;; *) wrong=$((wrong + 1)); diag "$got" ;; esac
	sleep 0.05
done
wait $bomb
is $? 0 "the zombies were made"
is "$(tail -n 1 "$D/out")" enough "a hundred thousand of them"
note "init answered $asked times meanwhile"
ok "init was asked meanwhile" [ $asked -gt 0 ]
is $wrong 0 "and answered each time, or said that the limit of processes is reached"
zombies() { box exec s -c 'ps -eo stat= | grep -c Z' | tr -d ' '; }
none() { [ "$(zombies)" = 0 ]; }
eventually none
ok "none is left unreaped"
is "$(box exec s -- ps -eo pid= | wc -l | tr -d ' ')" 2 "only init and the one who counts are there"
is "$(boxctl inspect s -o json | sed -n 's/.*"worker_restarts": \([0-9]*\).*/\1/p')" 0 "and the worker noticed nothing"
done_testing
