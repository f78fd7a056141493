import type { HookFigures, JsonObject, RunEvent, Usage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { SessionEvent, SessionSnapshot } from '@halting/core/session'

/** What a status line command receives about a session. */
export interface StatusLineState {
  readonly sessionId: string
  readonly snapshot: SessionSnapshot
  readonly followed: Omit<FollowedSession, 'onEvent'>
  /** The folder where the program was started. */
  readonly projectDirectory: string
  readonly additionalDirectories: readonly string[]
  readonly effort: string | undefined
  readonly version: string
  /** Milliseconds since the session was opened. */
  readonly openForMs: number
}

/** The number of tokens above which Claude Code reports a long context, whatever the window is. */
const manyTokens = 200_000

/** The command's input on stdin: the fields that commands for Claude Code read, and our own (spec R-LIM-41). */
export function statusLineInput(state: StatusLineState): JsonObject {
  const { sessionId, snapshot, followed: activity, projectDirectory, additionalDirectories, effort, version } = state
  const { cwd, figures, limits, model, nextStop, permissionMode, thinking } = snapshot
  const { usage } = activity
  return {
    hook_event_name: 'Status',
    session_id: sessionId,
    transcript_path: snapshot.file ?? '',
    cwd,
    permission_mode: permissionMode,
    model: { id: model, display_name: displayNameOf(model) },
    workspace: { current_dir: cwd, project_dir: projectDirectory, added_dirs: [...additionalDirectories] },
    version,
    output_style: { name: 'default' },
    cost: {
      total_cost_usd: figures.sessionUsd,
      total_duration_ms: Math.round(state.openForMs),
      total_api_duration_ms: Math.round(activity.apiMs),
      total_lines_added: activity.linesAdded,
      total_lines_removed: activity.linesRemoved,
    },
    context_window: contextWindowFields(usage, figures.contextWindow),
    exceeds_200k_tokens: usage !== null && promptTokens(usage) + usage.output_tokens > manyTokens,
    ...(effort !== undefined && { effort: { level: effort } }),
    thinking: { enabled: thinking !== null && thinking.type !== 'disabled' },
    figures: figuresOf(snapshot),
    limits: { ...limits },
    stop: nextStop === null ? null : { ...nextStop },
  }
}

/**
 * The input without elapsed times, to detect other changes. A command that shows the time is run again by
 * `refreshInterval`.
 */
export function withoutTimes(input: JsonObject): string {
  return JSON.stringify(input, (name, value: unknown) => (timeFields.has(name) ? undefined : value))
}

const timeFields: ReadonlySet<string> = new Set(['total_duration_ms', 'elapsedMs', 'ms'])

function promptTokens(usage: Usage): number {
  return usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
}

function contextWindowFields(usage: Usage | null, size: number | null): JsonObject {
  const tokens = usage === null ? 0 : promptTokens(usage)
  const isKnown = usage !== null && size !== null && size > 0
  const used = isKnown ? Math.min(100, Math.round((tokens / size) * 100)) : null
  return {
    total_input_tokens: tokens,
    total_output_tokens: usage?.output_tokens ?? 0,
    context_window_size: size,
    current_usage:
      usage === null
        ? null
        : {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_creation_input_tokens: usage.cache_creation_input_tokens,
            cache_read_input_tokens: usage.cache_read_input_tokens,
          },
    used_percentage: used,
    remaining_percentage: used === null ? null : 100 - used,
  }
}

/** The figures of the run, by the names that hooks read. */
function figuresOf({ figures, limits }: SessionSnapshot): HookFigures {
  const { turns, toolCalls, settledTokens, settledUsd, usedMs, leftUsd, leftTokens, leftMs } = figures
  const { maxTurns, maxToolCalls } = limits
  return {
    turns,
    toolCalls,
    tokens: settledTokens,
    usd: settledUsd,
    elapsedMs: usedMs,
    left: {
      ...(maxTurns !== null && { turns: Math.max(0, maxTurns - turns) }),
      ...(maxToolCalls !== null && { toolCalls: Math.max(0, maxToolCalls - toolCalls) }),
      ...(leftTokens !== null && { tokens: leftTokens }),
      ...(leftUsd !== null && { usd: leftUsd }),
      ...(leftMs !== null && { ms: leftMs }),
    },
  }
}

/** `Sonnet 4.5` for `claude-sonnet-4-5-20250929`; any other id unchanged. */
function displayNameOf(model: string): string {
  const found = /(?:^|[./])claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?:-\d{8})?(?:-v\d+(?::\d+)?)?(\[1m\])?$/.exec(model)
  if (found === null) return model
  const [, family = '', major = '', minor, large] = found
  const name = `${family.slice(0, 1).toUpperCase()}${family.slice(1)} ${major}${minor === undefined ? '' : `.${minor}`}`
  return large === undefined ? name : `${name} (1M context)`
}

/** Data of a status line that is not in a snapshot: totals since the session was opened. */
export interface FollowedSession {
  /** The usage of the last reply; null before the first, and after a compaction. */
  readonly usage: Usage | null
  /** Milliseconds spent in requests, including subagents. */
  readonly apiMs: number
  /** Lines added and removed by tools, including subagents. */
  readonly linesAdded: number
  readonly linesRemoved: number
  onEvent(event: SessionEvent): void
}

export function followSession(): FollowedSession {
  let usage: Usage | null = null
  let [apiMs, linesAdded, linesRemoved] = [0, 0, 0]

  function onRunEvent(event: RunEvent, isOwn: boolean): void {
    if (event.type === 'agent') return onRunEvent(event.event, false)
    if (event.type === 'model_end') {
      apiMs += event.durationMs
      if (isOwn && event.usage !== null) usage = event.usage
    }
    if (event.type !== 'message') return
    const { entry } = event
    if (entry.kind === 'compact_boundary' && isOwn) usage = null
    for (const details of entry.kind === 'user' ? Object.values(entry.details ?? {}) : []) {
      if (!isJsonObject(details)) continue
      linesAdded += countOf(details['linesAdded'])
      linesRemoved += countOf(details['linesRemoved'])
    }
  }
  return {
    get usage() {
      return usage
    },
    get apiMs() {
      return apiMs
    },
    get linesAdded() {
      return linesAdded
    },
    get linesRemoved() {
      return linesRemoved
    },
    onEvent(event) {
      if (event.type === 'loop') onRunEvent(event.event, true)
    },
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
