/** The path of an agent in step keys: `agent:3:0:CALL/`, appended to the path of its caller if that is an agent too. */
export interface AgentPath {
  /** Path of the caller; '' for the main loop. */
  readonly caller: string
  /** The caller's request that contains the call. */
  readonly request: number
  /** The request and the position of the call in its reply: `3:0`. */
  readonly place: string
  /** Id of the call. A model chose it, and it may look like a path. */
  readonly callId: string
}

/** Parses a path; undefined for anything else. `isCaller` distinguishes callers from parts of an id that look like one. */
export function agentPathOf(scope: string, isCaller: (scope: string) => boolean = () => true): AgentPath | undefined {
  if (!scope.endsWith('/')) return undefined
  let start = scope.lastIndexOf('/agent:', scope.length - 2) + 1
  while (start > 0 && !isCaller(scope.slice(0, start)))
    start = start < 2 ? 0 : scope.lastIndexOf('/agent:', start - 2) + 1
  const [, place, callId] = /^agent:(\d+:\d+):(.*)$/s.exec(scope.slice(start, -1)) ?? []
  if (place === undefined || callId === undefined) return undefined
  return { caller: scope.slice(0, start), request: Number.parseInt(place, 10), place, callId }
}
