// What the model is told of a subagent that cannot be started.

export const missingTools = (agent: string, names: readonly string[]): string =>
  `The agent ${agent} cannot be started: it needs ${names.join(', ')}, which this run does not have. Do the work yourself.`
