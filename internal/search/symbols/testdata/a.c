#include <stdio.h>
#define LIMIT 10 /* DEF macro LIMIT */
#define MAX(a, b) ((a) > (b) ? (a) : (b)) /* DEF macro MAX */
struct point { int x; };  /* DEF struct point */
struct point origin;
enum color { RED, GREEN }; /* DEF enum color */
typedef struct node { /* DEF struct node */
	struct node *next;
} node_t;
static int helper(const char *s); /* DEF declaration helper */
static int
helper(const char *s) /* DEF function helper */
{
	if (s) {
		printf("int fake(void) {");
	}
	for (;;) {
	}
	return 'a';
}
struct point *make(int x, /* DEF function make */
		   int y)
{
	return NULL;
}
int main(void) { /* DEF function main */
	helper("x");
	return 0;
}
