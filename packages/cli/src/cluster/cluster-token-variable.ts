/** What workers ask of everybody who calls them by the cluster, and what who asks proves to know. */
export const clusterTokenVariable = 'HALTING_CLUSTER_TOKEN'
