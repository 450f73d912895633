/* Of programs that confine themselves. */
#ifdef __SANITIZE_ADDRESS__
/* Looking for leaks at exit takes a thread and ptrace, which the filter forbids. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#else
typedef int noleaks_is_not_empty;
#endif
