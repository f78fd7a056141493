export { checkpointsBeside, checkpointsFolder, hiddenFromCheckpoints } from './checkpoints/checkpoints-folder.ts'
export { FileCheckpoints, type CheckpointOptions } from './checkpoints/file-checkpoints.ts'
export { firstChangeSince } from './checkpoints/since-message.ts'
export { SessionFiles, type RestorePlan, type WhatToRestore } from './checkpoints/session-files.ts'
export type { ChangedRun, LeftFile } from './checkpoints/take-back.ts'
export { createAgentTool, type AgentInput, type AgentToolOptions } from './agents/agent-tool.ts'
export { generalAgent, type AgentDefinition } from './agents/definition.ts'
export { modeOfAgent } from './agents/mode-of-agent.ts'
export { hasAgents, hasBriefing, ownSkillFolders, type BriefingPlaces } from './instructions/places.ts'
export { isOwnHook } from '@halting/core/adapters'
export { commandEnvironment, type CommandEnvironmentOptions } from './coding-agent/command-environment.ts'
export { codingAgent } from './coding-agent/coding-agent.ts'
export { CodingAgentBuilder, type EngineOptions } from './coding-agent/builder.ts'
export type { AnswerOf, AnswerSchema, CodingAgentOptions, GivenServer } from './coding-agent/options.ts'
export { decidedBefore, environmentWith } from './coding-agent/settings-of.ts'
export { endSession, type EndSessionOptions } from './coding-agent/end-session.ts'
export { SessionWall, type SessionWallOptions } from './sandbox/session-wall.ts'
export { type WallMeans, wallSummary } from './sandbox/wall-means.ts'
export { openWorkspace, type OpenWorkspaceOptions, type SessionWorkspace } from './coding-agent/open-workspace.ts'
export { sessionAgents, type SessionAgents } from './agents/session-agents.ts'
export type { SessionAgentsOptions } from './agents/read-agents.ts'
export { boundedFile, holderOf, type LockHolder } from '@halting/journal/files'
export { boundedText } from './instructions/bounded-text.ts'
export { sessionOptions, type SessionParts } from './coding-agent/session-options.ts'
export { createCarryOver } from './context/carry-over.ts'
export {
  createFitImage,
  imageAdvice,
  type FitImage,
  type FitImageOptions,
  type FittedImage,
} from './media/fit-image.ts'
export { createPrepareContent } from './media/prepare-content.ts'
export {
  keepsMemory,
  memoryOf,
  memoriesOfProject,
  memoryPlace,
  type MemoryOwner,
  type MemoryPlace,
} from './memory/places.ts'
export type { Sharp, SharpImage } from './media/sharp.ts'
export type { Remedy } from './permissions/decide.ts'
export {
  createPermissions,
  type Explanation,
  type PermissionOptions,
  type RuleInForce,
  type RulePermissions,
} from './permissions/permissions.ts'
export { updatesOfPersonTool, withPlanMode } from './permissions/plan-mode.ts'
export { planModeHook } from './permissions/plan-hook.ts'
export type { PlanWords } from './permissions/plan-words.ts'
export { type PermissionMode, permissionModes } from './permissions/rule-book.ts'
export { runsAnything } from './permissions/runs-anything.ts'
export { type Behavior, PermissionRuleError, type RuleProblem, type RuleText } from './permissions/rule.ts'
export { BoundedOutput } from './tools/bounded-output.ts'
export { whyNotStarted } from './not-started.ts'
export { createBashTool, type BashInput } from './tools/bash.ts'
export { backgroundOf, type BackgroundOptions } from './tools/background.ts'
export { createCodingTools } from './tools/coding-tools.ts'
export { createEditTool } from './tools/edit.ts'
export type { EditInput } from './tools/edit-file.ts'
export type { GlobInput } from './tools/find-files.ts'
export type { GrepInput, GrepMode } from './tools/search-files.ts'
export { createGlobTool } from './tools/glob.ts'
export { createGrepTool } from './tools/grep.ts'
export { inertGit, type InertGit, type InertGitLimits } from './tools/inert-git.ts'
export { defaultLimits, type Environment, type Limits, limitsFrom } from './tools/limits.ts'
export type { Sandbox } from './sandbox/sandbox.ts'
export { SandboxError } from './sandbox/sandbox-error.ts'
export type { NotebookEditInput } from './tools/edit-notebook.ts'
export { createNotebookEditTool } from './tools/notebook-edit.ts'
export {
  createPersonTools,
  type AskUserQuestionInput,
  type ExitPlanModeInput,
  type Question,
  type QuestionOption,
} from './tools/person-tools.ts'
export { createReadTool, type ReadInput } from './tools/read.ts'
export { createTaskOutputTool, type TaskOutputInput } from './tools/task-output.ts'
export { createTaskStopTool, type TaskStopInput } from './tools/task-stop.ts'
export type { Todo, TodoWriteInput } from './tools/todo-form.ts'
export { createTodoWriteTool } from './tools/todo-write.ts'
export { createWebFetchTool, type WebFetchInput } from './tools/web-fetch.ts'
export type { WebOptions } from './web/fetch-page.ts'
export type { EditorFiles } from './tools/editor-files.ts'
export { Workspace, type WorkspaceOptions } from './tools/workspace.ts'
export { createWriteTool, type WriteInput } from './tools/write.ts'
export { ripgrepPath } from './tools/ripgrep.ts'
export { redactedTool } from './redact/redacted-tools.ts'
export { redactedValue, redactSecrets } from '@halting/core/redact'
export {
  cleanUpSessions,
  isCleanUpDue,
  type CleanedUp,
  type CleanUpOptions,
  forgetAnswers,
  hasAnswers,
  noteAnswer,
  readAnswers,
  type Answers,
  forkSession,
  removeFork,
  deleteSession,
  keptSessions,
  type KeptFile,
  type SessionSummary,
  ResumeRejectedError,
  headOfKept,
  endsOf,
  sessionFile,
  sessionFolder,
  type SessionPlace,
  holdSession,
  type HeldSession,
  openJournal,
  type JournalOptions,
  type SessionJournal,
  entryOfLine,
  parseJournal,
  readJournal,
  type ReadJournal,
  wholeLines,
  createResultFiles,
  type ResultFiles,
  type ResultFilesLimits,
  type ResultFilesOptions,
} from '@halting/journal'
export { summariesOf, summaryOf } from './session-summaries.ts'
export {
  type FoundFile,
  type Ignored,
  type LoadedSettings,
  type LoadOptions,
  SettingsError,
} from './settings/loaded-settings.ts'
export type { NotificationChannel } from './settings/fields.ts'
export {
  type KeeperOptions,
  placeOfSuggestions,
  removeStoredRule,
  settingsKeeper,
  type StoredRule,
} from './settings/keep-permissions.ts'
export {
  changeSettingsFile,
  ownSettingsFile,
  settingsFileText,
  settingsTextWith,
  shownSettingsText,
  type SettingsValue,
} from './settings/own-settings.ts'
export { loadSettings, projectOffers } from './settings/settings.ts'
export type { NamedServer, Origin, PermissionSettings, Settings } from './settings/merge.ts'
export type { HookGroup, HookHandler, HookSettings } from './settings/hook-settings.ts'
export type { SettingSource } from './settings/places.ts'
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
} from './trust/trust-store.ts'
export { configFolder, homeFolder, realPath } from './paths.ts'
export { calledPath } from './same-looking.ts'
export { nearest } from './nearest.ts'
