export { onProcessExit, offProcessExit } from './process-exit.ts'
export { mcpToolName, validServerName, uniqueToolName } from './mcp-names.ts'
export type { Remedy } from './permissions/decide.ts'
export { ruleTexts, type RuleUpdate } from './permissions/rule-updates.ts'
export {
  type RulePermissions,
  createPermissions,
  type Explanation,
  type PermissionOptions,
  type CommandCall,
} from './permissions/permissions.ts'
export type { Rights as PermissionRights, RuleInForce } from './permissions/session-rules.ts'
export { searchDomain, type SearchBounds } from './permissions/search-domains.ts'
export { planModeHook } from './permissions/plan-mode.ts'
export { updatesOfPersonTool, withPlanMode } from './permissions/plan-mode.ts'
export { type PlanWords, planModeWords } from './permissions/plan-texts.ts'
export { type PermissionMode, permissionModes, type RuleDecision, type WallPort } from './permissions/rule-book.ts'
export {
  PermissionRuleError,
  parseRules,
  type RuleText,
  type Behavior,
  type RuleProblem,
  type PermissionRule,
  type RuleSpec,
} from './permissions/rule.ts'
export { runsAnything } from './permissions/runs-anything.ts'
export { generalAgentName } from './permissions/subject.ts'
export type { DescribedSandbox, DeniedPatterns } from './sandbox/describe.ts'
export type { PlainCommand, SandboxDescription, Place as SandboxPlace } from './sandbox/description.ts'
export { isPublicAddress, isDomainDenied, isExactHost, normalizeHost, type DomainLists } from './sandbox/domains.ts'
export { type TrialMeans, trialSummary } from './sandbox/trial-means.ts'
export type { TrialCall, TrialPort } from './permissions/trial.ts'
export { SandboxError } from './sandbox/sandbox-error.ts'
export { type EditsChoice, editsOffReason } from './sandbox/sandbox-settings.ts'
export {
  explicitAutoAllow,
  sandboxSettingsOf,
  type SandboxSettings,
  restrictionsOf,
} from './sandbox/sandbox-settings.ts'
export { SessionWall, type SessionWallOptions } from './sandbox/session-wall.ts'
export { type EditMeans, editSummary } from './sandbox/edit-means.ts'
export { type PipedProcess, spawnPiped, type SpawnRequest } from './sandbox/spawn-piped.ts'
export {
  type WallMeans,
  wallSummary,
  findLandlock,
  findNamespaces,
  notConfinedCode,
  notConfinedMark,
} from './sandbox/wall-means.ts'
export {
  hookEvents,
  type HookSettings,
  type HookEvent,
  type HookGroup,
  type HookHandler,
} from './settings/hook-settings.ts'
export { indentAt } from './settings/json-edit.ts'
export {
  changeMcpServers,
  mcpFile,
  type McpScope,
  mcpScopes,
  mcpServersOf,
  type Servers as McpServersByName,
} from './settings/mcp-edit.ts'
export { signInsFolder } from './settings/mcp-files.ts'
export { folderTrust, type FolderTrust, type TrustQuestion } from './trust/folder-trust.ts'
export type { Offer } from './trust/offers.ts'
export {
  changeTrust,
  isTooBroad,
  readTrust,
  notificationChannelOfClaude,
  trustedByClaude,
  trustFile,
  type TrustOwner,
  type TrustRecord,
  lockFile,
  type ReadRecords as ReadTrustRecords,
  type TrustRecords,
} from './trust/trust-store.ts'
export type { ExplainedPart } from './permissions/explain.ts'
export { pathPattern, type PathPattern, type PatternRoots } from './permissions/path-pattern.ts'
export type { MadeFile as SandboxMadeFile } from './sandbox/git-places.ts'
export type { PlacePattern } from './sandbox/expand.ts'
