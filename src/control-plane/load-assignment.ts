/** A `ClusterLoadAssignment` of unix sockets. */
export const loadAssignment = (name: string, paths: readonly string[]) => ({
  cluster_name: name,
  endpoints: [
    {
      lb_endpoints: paths.map((path) => ({ endpoint: { address: { pipe: { path } } } })),
    },
  ],
})
