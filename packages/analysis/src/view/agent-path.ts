/** The path of an agent, as the keys of its steps have it: `agent:3:0:CALL/`, behind that of its caller where that is an agent, too. */
export interface AgentPath {
  /** '' for the main loop. */
  readonly caller: string
  /** The request of the caller that called it. */
  readonly request: number
  /** This with the place of the call in its reply: `3:0`. */
  readonly place: string
  /** A model chose it, and it may look like a path itself. */
  readonly callId: string
}

/** Undefined for what is no path of an agent. `isCaller` tells a caller from a part of an id that looks like one. */
export function agentPathOf(scope: string, isCaller: (scope: string) => boolean = () => true): AgentPath | undefined {
  if (!scope.endsWith('/')) return undefined
  let start = scope.lastIndexOf('/agent:', scope.length - 2) + 1
  while (start > 0 && !isCaller(scope.slice(0, start)))
    start = start < 2 ? 0 : scope.lastIndexOf('/agent:', start - 2) + 1
  const [, place, callId] = /^agent:(\d+:\d+):(.*)$/s.exec(scope.slice(start, -1)) ?? []
  if (place === undefined || callId === undefined) return undefined
  return { caller: scope.slice(0, start), request: Number.parseInt(place, 10), place, callId }
}
