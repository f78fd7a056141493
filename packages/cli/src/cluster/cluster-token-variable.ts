/** The variable with the token that workers require from clients of the cluster. Clients prove that they know it. */
export const clusterTokenVariable = 'HALTING_CLUSTER_TOKEN'
