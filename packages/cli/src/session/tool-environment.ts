import { commandEnvironment } from '@halting/agent'
import { keyVariables } from '@halting/models'
import { clusterTokenVariable } from '../cluster/cluster-token-variable.ts'
import { workerTokenVariable } from '../cluster/worker-token.ts'
import type { Program } from '../program.ts'

/** They hold keys of collectors. */
const headerVariables = ['', 'TRACES_', 'METRICS_', 'LOGS_'].map((signal) => `OTEL_EXPORTER_OTLP_${signal}HEADERS`)

/** The environment of commands: that of the program without keys of models and tokens of clusters, but for those that a person passes on. */
export function toolEnvironment(env: Program['env'], passed: readonly string[] = []): Program['env'] {
  return commandEnvironment(env, {
    keys: [...keyVariables(), clusterTokenVariable, workerTokenVariable, ...headerVariables],
    passed,
  })
}
