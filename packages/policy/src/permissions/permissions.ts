import { type PermissionDecision, type PermissionRequest, type Permissions } from '@halting/core'
import { isJsonObject, type PermissionUpdate } from '@halting/core/adapters'
import { resolve } from 'node:path'
import { mcpToolName } from '../mcp-names.ts'
import { withoutLookupCache, withLookupCache } from '../files/lookup-cache.ts'
import { absolutePath, bothEnds, isExactPath } from '../files/paths.ts'
import type { DeniedPatterns } from '../sandbox/describe.ts'
import { type DomainLists, domainsOverlap } from '../sandbox/domains.ts'
import type { Confinement } from '../sandbox/confinement.ts'
import { isReadOnlyCommand } from '../shell/read-only.ts'
import { deniedPatterns } from './denied-patterns.ts'
import { causeOf, confinementFor, decide, type Remedy, remedyFor, suggestionsFor } from './decide.ts'
import { type ExplainedPart, explainedParts } from './explain.ts'
import { type Behavior, parseRules, type RuleText } from './rule.ts'
import {
  type Access,
  hiddenTools,
  isPathRuleFor,
  patternForPath,
  ruleForPath,
  permissionModes,
  type PermissionMode,
  type RuleBook,
  type RuleDecision,
  type WallPort,
} from './rule-book.ts'
import { updatesOfPersonTool } from './plan-mode.ts'
import { addsAllowRules, checkUpdates } from './rule-updates.ts'
import { ruleForAny } from './rule-match.ts'
import { fixedAllow, type Rights, type RuleInForce, SessionRules } from './session-rules.ts'
import { searchBounds, type SearchBounds } from './search-domains.ts'
import { commandOf, type Subjects, subjectsOf } from './subject.ts'
import { commandOfCall, trialConfinement, type TrialPort } from './trial.ts'
import { deniedAsCalled, deniedByRule, doNotBypass, notAllowed, triedInVain } from './permission-texts.ts'

/** Options of `createPermissions`. */
export interface PermissionOptions {
  /** The initial mode. Default: `default`. */
  readonly mode?: PermissionMode
  /** The available modes. Default: all. The session never enters any other mode. */
  readonly modes?: readonly PermissionMode[]
  /** Rules whose calls run without a question. */
  readonly allow?: readonly RuleText[]
  /** Only an administrator's rules allow calls: neither answers nor `addRules` add to `allow`. */
  readonly hasFixedAllow?: boolean
  /** Rules whose calls are denied; they win over all others. */
  readonly deny?: readonly RuleText[]
  /** Rules whose calls need approval by a person. */
  readonly ask?: readonly RuleText[]
  /** Working directory: the base of relative paths in rules. */
  readonly cwd: string
  /** Further folders of the workspace. */
  readonly additionalDirectories?: readonly string[]
  /** Folders that can be read without a rule but not written, such as `ResultFiles.readableFolders`. Links in these paths are not followed. */
  readonly readableFolders?: readonly string[]
  /** The current directory of the shell of the Bash tool: `() => workspace.shellDirectory`. Default: the cwd. */
  readonly shellDirectory?: () => string
  /** Environment of commands. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The sandbox: commands in it need no approval. */
  readonly sandbox?: {
    /** Whether the command would run in the sandbox. */
    holds(command: string): boolean
  }
  /** Confines commands that run without a rule; without it they run unconfined. */
  readonly wall?: WallPort
  /** Tries commands before a person is asked, where confinement is possible. Default: none is tried. */
  readonly trial?: TrialPort
  /** Stores permission updates that a person accepts, such as `settingsWriter`. Without it, all are for the session only. */
  readonly keep?: NonNullable<Permissions['keep']>
  /** Where suggested rules are to be stored, for example the result of `suggestionDestination`. Default: `localSettings`. */
  readonly suggestFor?: PermissionUpdate['destination']
  /** An MCP tool that searches for `WebSearch`, such as `mcp__search__web`: its rules apply to searches too. */
  readonly searchTool?: string | undefined
  /** What happens to a call that needs approval: `deny` if nobody is there to ask. Default: `ask`. */
  readonly whenAsked?: 'deny' | 'ask'
}

/** Permissions by rules and a mode, which a person can change during a run. */
export interface RulePermissions extends Permissions {
  /** The same permissions without `whenAsked`: for hooks that answer questions first. */
  readonly asking: Permissions
  /** The current mode. */
  readonly mode: PermissionMode
  /** Changes the mode, from the next decision on. */
  setMode(mode: PermissionMode): void
  /** Adds rules for the rest of the session. Throws `PermissionRuleError`. */
  addRules(behavior: Behavior, rules: readonly RuleText[]): void
  /**
   * Withdraws an allow rule for the rest of the session, including one that an answer added; a later answer may add it again. Deny and ask rules
   * remain until the next session. Earlier decisions remain valid.
   */
  withdrawAllow(rule: string, rights?: Rights): void
  /** The rules in force, as they are written: those of the options, and those that people added since. `rights` apply as long as no call was judged. */
  rules(rights?: Rights): readonly RuleInForce[]
  /** Which of these tools a bare deny rule removes: they are hidden from the model. */
  toolsHiddenByDeny(names: readonly string[]): readonly string[]
  /** What would have allowed a call that these rules deny or ask about; undefined if no addition would. */
  remedyFor(request: PermissionRequest): Remedy | undefined
  /** What would happen to a Bash command, part by part. Runs nothing. */
  explain(command: string): Explanation
  /**
   * The real path of a call when it was last judged; undefined for a call that was not judged or has no path. `agentId`: the calling subagent, as
   * agents may use the same call ids. `path`: selects one of the paths of a patch.
   */
  judgedPath(callId: string, agentId?: string, path?: string): string | undefined
  /**
   * The confinement of a command of Bash or Wait, by the last decision about its call. Undefined if a rule, a person, a hook or the mode let it run
   * unconfined. A command without a decision, for example of a call from another process, is judged now.
   */
  confinementOf(call: CommandCall): Confinement | undefined
  /** The files that deny rules name: a sandbox protects them from every command. */
  deniedPlaces(rights?: Rights): DeniedPatterns
  /** What `WebSearch(domain:…)` rules exclude from the results of a search. */
  searchBounds(rights?: Rights): SearchBounds
  /** The domains of `WebFetch(domain:…)` rules: commands in a sandbox may reach them too. */
  domains(): DomainLists
  /** For `WorkspaceOptions.hides`: searches skip what may not be read. */
  deniesReading(path: string, rights?: Rights): boolean
  /** For `WorkspaceOptions.asksToRead`: whether an ask rule covers reading a file, so that results of other tools must not quote it. */
  asksToRead(path: string, rights?: Rights): boolean
}

/** A call of Bash, or of Wait with a command, that is about to run. */
export interface CommandCall extends Pick<PermissionRequest, 'learned' | 'mode'> {
  /** Id of the call. */
  readonly callId: string
  /** The command line. */
  readonly command: string
  /** Id of the calling subagent. */
  readonly agentId?: string | undefined
  /** Other fields of the call that affect its confinement. Default: none. */
  readonly fields?: Readonly<Record<string, boolean>>
}

/** What the rules say about a command line and its parts. */
export interface Explanation {
  /** What would happen to the whole line. */
  readonly behavior: RuleDecision['behavior']
  /** The reason, in a sentence; undefined for an allowed line. */
  readonly message: string | undefined
  /** The mode that the explanation assumes. */
  readonly mode: PermissionMode
  /** The parts of the line, in order. */
  readonly parts: readonly ExplainedPart[]
  /**
   * How the line is confined if it runs without a question: to reading, to reading with a view of processes, or to the workspace. Absent if it runs
   * unconfined.
   */
  readonly confinedTo?: Confinement['kind']
  /** Why commands without a rule need approval in `acceptEdits`, as the end of a sentence. Absent if they run confined, and in other modes. */
  readonly editsOff?: string
}

/** By call, the command that was decided about and its confinement. */
type Confinements = Map<string, { readonly command: string; readonly confinement: Confinement | undefined }>

// Spec R-RULE-1, R-RULE-4, R-RULE-5.
/**
 * Creates permissions by rules. Throws `PermissionRuleError` for invalid rules.
 *
 * A deny rule wins over every allow rule, mode and hook.
 * A compound command is allowed only if every part of it is.
 * A path is denied if it or its real path is denied, and allowed only if both are allowed.
 */
export function createPermissions(options: PermissionOptions): RulePermissions {
  const cwd = resolve(options.cwd)
  const { searchTool, whenAsked = 'ask', modes = permissionModes } = options
  const rules = new SessionRules(initialBook(options, cwd), modes)
  const records: CallRecords = { cwd, searchTool, judged: new Map(), confinements: new Map() }
  const { judged, confinements } = records
  const bookInMode = (request: PermissionRequest): RuleBook => inMode(rules.forRequest(request), request, modes)
  const denies: Permissions['denies'] = (request) => withLookupCache(() => denialOf(request, rules, records))
  const decideAs = (request: PermissionRequest, asked: 'deny' | 'ask'): RuleDecision | Promise<PermissionDecision> => {
    const current = bookInMode(request)
    const decision = decideAndRecord(request, current, records)
    if (decision.behavior !== 'ask') return markConfined(decision, request, confinements)
    return tryOrAsk(request, current, decision.message, { trial: options.trial, confinements, asked })
  }
  const answers = {
    isPlanning: (mode: string = rules.mode) => mode === 'plan',
    denies,
    ...answerOptions(rules, options, bookInMode),
  }
  return {
    modes,
    ...answers,
    get mode() {
      return rules.mode
    },
    setMode: (mode) => rules.setMode(mode),
    addRules: (behavior, added) => rules.add(behavior, added),
    withdrawAllow: (rule, rights) => rules.withdrawAllow(rule, rights),
    rules: (rights) => rules.list(rights),
    toolsHiddenByDeny: (names) => hiddenTools(rules.book.deny, names),
    remedyFor: (request) => remedyFor(asServerCall(request) ?? request, bookInMode(request)),
    explain: (command) => explain(command, rules.book),
    deniesReading: (path, rights = {}) => isHidden(path, rules.withLearned(rights)),
    asksToRead: (path, rights = {}) => ruleForPath(rules.withLearned(rights).ask, readAccess, path) !== undefined,
    confinementOf({ callId, command, agentId, fields, ...rights }) {
      const decided = confinements.get(callKey(callId, agentId))
      // A person may have replaced the command after the decision, so the new command is judged separately.
      if (decided?.command === command) return decided.confinement
      const request = { ...bashRequest(command, fields), ...rights }
      return undecidedConfinement(request, inMode(rules.withLearned(rights), request, modes), options.trial)
    },
    judgedPath: (callId, agentId, path) => recordedPath(judged.get(callKey(callId, agentId)), path),
    deniedPlaces: (rights) => deniedPatterns((rights === undefined ? rules.last() : rules.withLearned(rights)).deny),
    searchBounds: (rights = {}) => searchBounds(rules.withLearned(rights).deny),
    domains: () => ({ ...domainsOf(rules.book), denied: domainsOf(rules.last()).denied }),
    decide: (request) => decideAs(request, whenAsked),
    asking: { modes, ...answers, decide: (request) => decideAs(request, 'ask') },
  }
}

function initialBook(options: PermissionOptions, cwd: string): RuleBook {
  const folders = [cwd, ...(options.additionalDirectories ?? []).map((path) => absolutePath(path, cwd))]
  return {
    mode: options.mode ?? 'default',
    ...parseRules(options, cwd),
    hasFixedAllow: options.hasFixedAllow === true,
    cwd,
    directories: folders.flatMap(bothEnds),
    readableFolders: options.readableFolders ?? [],
    shellDirectory: options.shellDirectory ?? (() => cwd),
    env: options.env ?? process.env,
    ...(options.sandbox !== undefined && { sandbox: options.sandbox }),
    ...(options.wall !== undefined && { wall: options.wall }),
  }
}

/** What a person is offered when a call asks, and how their answer is stored. */
function answerOptions(
  rules: SessionRules,
  { modes = permissionModes, suggestFor = 'localSettings', keep: store }: PermissionOptions,
  bookInMode: (request: PermissionRequest) => RuleBook,
): Required<Pick<Permissions, 'suggest' | 'updatesOnAllow' | 'cause' | 'keep'>> {
  return {
    suggest: (request) => suggestionsFor(asServerCall(request) ?? request, bookInMode(request), modes, suggestFor),
    updatesOnAllow: updatesByYes(modes),
    cause: (request) => causeOf(asServerCall(request) ?? request, bookInMode(request)),
    keep: async (updates) => {
      checkUpdates(updates, rules.book.cwd)
      if (rules.book.hasFixedAllow && updates.some(addsAllowRules)) throw fixedAllow()
      await store?.(updates)
    },
  }
}

// A person may replace the path of a call after the decision. Then only these rules are checked.
function denialOf(request: PermissionRequest, rules: SessionRules, records: CallRecords): string | undefined {
  const subjects = subjectsOf(request.call, records.cwd)
  recordPaths(records.judged, request, subjects)
  const book = rules.forRequest(request)
  const rule = ruleForAny(book.deny, request.call.name, subjects, book)
  if (rule !== undefined) return doNotBypass(deniedByRule(rule.source))
  const served = asServerCall(request, records.searchTool)
  return (
    (served === undefined ? undefined : denialOf(served, rules, records)) ?? deniedAsWritten(request, book, subjects)
  )
}

/** Decisions about calls, for when they run. */
interface CallRecords {
  readonly cwd: string
  readonly searchTool: string | undefined
  readonly judged: Map<string, ReadonlyMap<string, string>>
  readonly confinements: Confinements
}

/** What the rules say. Also records, from the same file system lookups, what is needed when the call runs. */
function decideAndRecord(
  request: PermissionRequest,
  book: RuleBook,
  { cwd, searchTool, judged, confinements }: CallRecords,
): RuleDecision {
  return withLookupCache(() => {
    const subjects = subjectsOf(request.call, cwd)
    recordPaths(judged, request, subjects)
    const decision = decideWithServer(request, book, { subjects, served: asServerCall(request, searchTool) })
    recordConfinement(confinements, request, decision.behavior === 'allow' ? confinementFor(request, book) : undefined)
    return decision
  })
}

/** The call may run in another process, with another mode. */
function markConfined(decision: RuleDecision, { call, agentId }: PermissionRequest, noted: Confinements): RuleDecision {
  if (decision.behavior !== 'allow' || noted.get(callKey(call.id, agentId))?.confinement === undefined) return decision
  return { ...decision, confined: true }
}

// Spec R-TRY-3.
/** Handles a call that the rules ask about: tries its command if possible, and uses its result if it had no effects; otherwise a person is asked. */
function tryOrAsk(
  request: PermissionRequest,
  book: RuleBook,
  message: string,
  {
    trial,
    confinements,
    asked,
  }: { readonly trial: TrialPort | undefined; readonly confinements: Confinements; readonly asked: 'deny' | 'ask' },
): RuleDecision | Promise<PermissionDecision> {
  const settle = (why: string): RuleDecision | Promise<PermissionDecision> => {
    // Somebody answers a pending permission request, or has already answered it.
    const isDenied = request.wasAsked !== true && (asked === 'deny' || book.mode === 'dontAsk')
    return isDenied
      ? failOrDeny(request, { behavior: 'deny', message: notAllowed(why) })
      : { behavior: 'ask', message: why }
  }
  const { signal, agentId, call } = request
  const command = commandOfCall(request)
  const isTried = trial !== undefined && signal !== undefined && command !== undefined
  const confinement = isTried ? withLookupCache(() => trialConfinement(request, book)) : undefined
  if (!isTried || confinement === undefined) return settle(message)
  return trial.run({ callId: call.id, agentId, command, input: call.input, confinement }, signal).then((why) => {
    if (why !== undefined) return settle(triedInVain(message, why))
    recordConfinement(confinements, request, confinement)
    return { behavior: 'allow', confined: true }
  })
}

/**
 * The confinement of a command without a decision in this process. A process that has ended since may have tried the
 * command; then the result is lost too.
 */
function undecidedConfinement(
  request: PermissionRequest,
  book: RuleBook,
  trial: TrialPort | undefined,
): Confinement | undefined {
  return withLookupCache(() => inferredConfinement(request, book, trial))
}

function inferredConfinement(
  request: PermissionRequest,
  book: RuleBook,
  trial: TrialPort | undefined,
): Confinement | undefined {
  if (decide(request, book).behavior === 'allow') return confinementFor(request, book)
  const trying = trial === undefined ? undefined : trialConfinement(request, book)
  if (trying !== undefined) return trying
  // Spec R-EBASH-2. A person allowed it, or an earlier mode did, on the condition that it is confined.
  const editing: RuleBook = { ...book, mode: 'acceptEdits' }
  return decide(request, editing).behavior === 'allow' ? confinementFor(request, editing) : undefined
}

function isHidden(path: string, { deny }: RuleBook): boolean {
  if (patternForPath(deny, readAccess, path) !== undefined) return true
  // The real path and other names of such a path are unknown.
  return !isExactPath(path) && deny.some((rule) => isPathRuleFor(rule, readAccess))
}

/** A plain approval applies the first update of such a call, if the mode in that update is available in the session. */
function updatesByYes(modes: readonly string[]): NonNullable<Permissions['updatesOnAllow']> {
  return ({ call }) => {
    const [update] = updatesOfPersonTool(call.name)
    return update?.type === 'setMode' && modes.includes(update.mode) ? [update] : []
  }
}

function explain(command: string, book: RuleBook): Explanation {
  return withLookupCache(() => explainedLine(command, book))
}

function explainedLine(command: string, book: RuleBook): Explanation {
  const request = bashRequest(command)
  const decision = decide(request, book)
  const confinement = decision.behavior === 'allow' ? confinementFor(request, book) : undefined
  const edits = book.mode === 'acceptEdits' ? withoutLookupCache(() => book.wall?.edits?.()) : undefined
  return {
    behavior: decision.behavior,
    message: decision.behavior === 'allow' ? undefined : decision.message,
    mode: book.mode,
    parts: explainedParts(command, { decision, confinement }, book),
    ...(confinement !== undefined && { confinedTo: confinement.kind }),
    ...(edits?.kind === 'off' && { editsOff: edits.why }),
  }
}

// Spec R-PERM-12.
/** If approval is impossible, a call that cannot succeed still fails: no rule would help it. */
function failOrDeny({ precheck }: PermissionRequest, denied: RuleDecision): RuleDecision | Promise<PermissionDecision> {
  if (precheck === undefined) return denied
  return precheck().then((why) => (why === undefined ? denied : { behavior: 'fail', message: why }))
}

// Spec R-RULE-2a.
/** A rule about the input of a call applies whatever name the model gave the tool. A bare rule for that name is about a tool that does not run. */
function deniedAsWritten({ call, written }: PermissionRequest, book: RuleBook, judged: Subjects): string | undefined {
  if (written === undefined) return undefined
  const aboutInput = book.deny.filter(({ spec }) => spec.kind !== 'any')
  const subjects = subjectsOf({ ...call, name: written }, book.cwd).map((subject) => {
    if (subject.kind !== 'path') return subject
    const same = judged.find((each) => each.kind === 'path' && each.path === subject.path)
    return same?.kind === 'path' ? { ...subject, ends: same.ends } : subject
  })
  const rule = ruleForAny(aboutInput, written, subjects, book)
  return rule === undefined ? undefined : doNotBypass(deniedAsCalled(rule.source, written))
}

/** Reading a resource is a request to its server, and a search may be one: the rules for that server apply too. */
function asServerCall(request: PermissionRequest, searchTool?: string): PermissionRequest | undefined {
  const { call } = request
  const { input } = call
  if (call.name === 'WebSearch' && searchTool !== undefined) return { ...request, call: { ...call, name: searchTool } }
  if (call.name !== 'ReadMcpResource' || !isJsonObject(input) || typeof input['server'] !== 'string') return undefined
  return { ...request, call: { ...call, name: mcpToolName(input['server'], call.name) } }
}

function decideWithServer(
  request: PermissionRequest,
  book: RuleBook,
  { subjects, served }: { readonly subjects: Subjects; readonly served: PermissionRequest | undefined },
): RuleDecision {
  const decision = decide(request, book, subjects)
  if (served === undefined) return decision
  const decisions = [decide(served, book), decision]
  const isAsked = [request, served].some(
    ({ call }) => ruleForAny(book.ask, call.name, subjectsOf(call, book.cwd), book) !== undefined,
  )
  const order = isAsked ? (['deny', 'ask', 'allow'] as const) : (['deny', 'allow', 'ask'] as const)
  const found = order.map((behavior) => decisions.find((one) => one.behavior === behavior))
  return found.find((one) => one !== undefined) ?? decision
}

/** Domains that need approval are not opened for commands. */
function domainsOf({ allow, ask, deny }: RuleBook): DomainLists {
  const named = (rules: RuleBook['allow']): readonly string[] =>
    rules.flatMap(({ spec }) => (spec.kind === 'domain' ? [spec.domain] : []))
  const asked = named(ask)
  return {
    allowed: named(allow).filter((domain) => !asked.some((other) => domainsOverlap(domain, other))),
    denied: named(deny),
  }
}

function bashRequest(command: string, fields: CommandCall['fields'] = {}): PermissionRequest {
  return {
    call: { type: 'tool_use', id: 'explained', name: 'Bash', input: { ...fields, command } },
    tool: { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' },
    readOnly: isReadOnlyCommand(command),
  }
}

const readAccess: Access = { kind: 'read', toolName: 'Read' }
const maxJudged = 1_000

// Spec R-PLACE-1a.
/** The judged path is the one that is opened: a path that leads elsewhere when the call runs is rejected. */
function recordPaths(
  judged: Map<string, ReadonlyMap<string, string>>,
  { call, agentId }: PermissionRequest,
  subjects: Subjects,
): void {
  const key = callKey(call.id, agentId)
  judged.delete(key)
  const paths = new Map<string, string>()
  for (const subject of subjects) {
    const real = subject.kind === 'path' ? subject.ends.at(-1) : undefined
    if (subject.kind === 'path' && real !== undefined) paths.set(subject.path, real)
  }
  if (paths.size === 0) return
  judged.set(key, paths)
  for (const oldest of judged.keys()) {
    if (judged.size <= maxJudged) return
    judged.delete(oldest)
  }
}

/** The recorded real path. A path whose name has changed since must lead to a recorded path of the call. */
function recordedPath(judged: ReadonlyMap<string, string> = new Map(), path = ''): string | undefined {
  return judged.get(path) ?? [...judged.values()][0]
}

function recordConfinement(
  confinements: Confinements,
  { call, agentId }: PermissionRequest,
  confinement: Confinement | undefined,
): void {
  const command = commandOf(call)
  if (command === undefined) return
  const key = callKey(call.id, agentId)
  confinements.delete(key)
  confinements.set(key, { command, confinement })
  for (const oldest of confinements.keys()) {
    if (confinements.size <= maxJudged) return
    confinements.delete(oldest)
  }
}

function callKey(callId: string, agentId = ''): string {
  return JSON.stringify([agentId, callId])
}

/** A mode that was set for the run takes precedence over the mode of the rules. */
function inMode(book: RuleBook, { mode }: PermissionRequest, modes: readonly PermissionMode[]): RuleBook {
  const asked = modes.find((known) => known === mode)
  return asked === undefined ? book : { ...book, mode: asked }
}
