/**
 * A place of a proxied request where expressions are evaluated (completions §13). Names of headers are lower case;
 * names of query parameters are exact, and decoded.
 */
export type Surface = 'body' | 'path' | `header:${string}` | `query:${string}`
