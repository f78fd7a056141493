export { checkpointsOfFile, checkpointsFolder, hiddenFromCheckpoints } from './checkpoints/checkpoints-folder.ts'
export { FileCheckpoints, type CheckpointOptions } from './checkpoints/file-checkpoints.ts'
export { firstChangeSince } from './checkpoints/since-message.ts'
export { SessionFiles, type RestorePlan, type WhatToRestore } from './checkpoints/session-files.ts'
export type { ChangedRun, LeftFile } from './checkpoints/revert-plan.ts'
export { createAgentTool, type AgentInput, type AgentToolOptions } from './agents/agent-tool.ts'
export { generalAgent, type AgentDefinition } from './agents/definition.ts'
export { modeOfAgent } from './agents/mode-of-agent.ts'
export { hasAgents, hasBriefing, ownSkillFolders, type BriefingPlaces } from './instructions/places.ts'
export { isBuiltinHook } from '@halting/core/adapters'
export { commandEnvironment, type CommandEnvironmentOptions } from './coding-agent/command-environment.ts'
export { evidenceRules, type EvidenceRulesOptions } from './goals/evidence-rules.ts'
export { codingAgent } from './coding-agent/coding-agent.ts'
export { CodingAgentBuilder, type EngineOptions } from './coding-agent/builder.ts'
export type { AnswerOf, AnswerSchema, CodingAgentOptions, GivenServer } from './coding-agent/options.ts'
export { findPackage, type FoundPackage, type PackageQuery } from './providers/find-package.ts'
export { bootstrapVariables, environmentWith } from './coding-agent/settings-of.ts'
export { endSession, type EndSessionOptions } from './coding-agent/end-session.ts'
export {
  SessionWall,
  type SessionWallOptions,
  type WallMeans,
  wallSummary,
  type Remedy,
  createPermissions,
  type Explanation,
  type PermissionOptions,
  type RuleInForce,
  type RulePermissions,
  updatesOfPersonTool,
  withPlanMode,
  planModeHook,
  type PlanWords,
  type PermissionMode,
  permissionModes,
  runsAnything,
  type Behavior,
  PermissionRuleError,
  type RuleProblem,
  type RuleText,
  SandboxError,
  type HookGroup,
  type HookHandler,
  type HookSettings,
  folderTrust,
  type FolderTrust,
  type TrustQuestion,
  type Offer,
  changeTrust,
  isTooBroad,
  readTrust,
  notificationChannelOfClaude,
  trustedByClaude,
  trustFile,
  type TrustOwner,
  type TrustRecord,
} from '@halting/policy'
export {
  type FoundFile,
  type Ignored,
  type LoadedSettings,
  type LoadOptions,
  SettingsError,
  type NotificationChannel,
  type StatusLineSettings,
  type SettingsWriterOptions,
  suggestionDestination,
  removeStoredRule,
  settingsWriter,
  type StoredRule,
  changeSettingsFile,
  ownSettingsFile,
  settingsFileText,
  settingsTextWith,
  shownSettingsText,
  type SettingsValue,
  loadSettings,
  projectOffers,
  type NamedServer,
  type Origin,
  type PermissionSettings,
  type Settings,
  type SettingSource,
} from '@halting/policy/settings'
export { openWorkspace, type OpenWorkspaceOptions, type SessionWorkspace } from './coding-agent/open-workspace.ts'
export { sessionAgents, type SessionAgents } from './agents/session-agents.ts'
export type { SessionAgentsOptions } from './agents/read-agents.ts'
export { readBoundedFile, holderOf, type LockHolder, configFolder, realPath } from '@halting/journal/files'
export { boundedText, homeFolder, resolveToolPath } from '@halting/policy/files'
export { sessionOptions, type SessionParts } from './coding-agent/session-options.ts'
export { commandChanges, type CommandChange } from './checks/command-changes.ts'
export { commandWork, type CommandOutcome } from './checks/command-work.ts'
export { projectChecks } from './checks/project-checks.ts'
export { createCarryOver } from './context/carry-over.ts'
export { createFitImage, type FitImage, type FitImageOptions, type FittedImage } from './media/fit-image.ts'
export { imageAdvice } from './media/fit-image-texts.ts'
export { createPrepareContent } from './media/prepare-content.ts'
export {
  isMemoryEnabled,
  memoryOf,
  memoriesOfProject,
  memoryPlace,
  type MemoryOwner,
  type MemoryPlace,
} from './memory/places.ts'
export type { Sharp, SharpImage } from './media/sharp.ts'
export { BoundedOutput } from './tools/bounded-output.ts'
export { whyNotStarted } from './not-started.ts'
export { createBashTool, type BashInput } from './tools/bash.ts'
export { backgroundOf, type BackgroundOptions } from './tools/background.ts'
export { createCodingTools, type CodingToolsOptions } from './tools/coding-tools.ts'
export { createEditTool } from './tools/edit.ts'
export type { EditInput } from './tools/edit-file.ts'
export type { GlobInput } from './tools/find-files.ts'
export type { GrepInput, GrepMode } from './tools/search-files.ts'
export { createGlobTool } from './tools/glob.ts'
export { createGrepTool } from './tools/grep.ts'
export { readOnlyGit, type ReadOnlyGit, type ReadOnlyGitLimits } from './tools/read-only-git.ts'
export { defaultLimits, type Environment, type Limits, limitsFrom } from './tools/limits.ts'
export type { Sandbox } from '@halting/policy/sandbox'
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
export type { TaskCreateInput, TaskGetInput, TaskUpdateInput } from './tools/task-list/task-forms.ts'
export { createTaskTools } from './tools/task-list/task-tools.ts'
export type { Todo, TodoWriteInput } from './tools/todo-form.ts'
export { createTodoWriteTool } from './tools/todo-write.ts'
export { createWaitTool } from './tools/wait.ts'
export type { WaitInput } from './tools/waits/watched.ts'
export { createWebFetchTool, type WebFetchInput } from './tools/web-fetch.ts'
export { createWebSearchTool } from './tools/web-search.ts'
export type { SearchServer, WebSearchInput, WebSearchPort } from './web/search-port.ts'
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
  storedSessions,
  type StoredSessionFile,
  ResumeRejectedError,
  readSessionHead,
  endsOf,
  sessionFile,
  sessionFolder,
  type SessionPlace,
  lockSession,
  type LockedSession,
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
export { nearest } from './nearest.ts'
export { commandGoal, type CommandGoalOptions } from './goals/command-goal.ts'
export { unusableCommand } from './goals/unusable-command.ts'
export { acceptCheckChanges } from './goals/check-changes.ts'
export { type ChangedByCheck, goalFiles, type GoalFilesOptions } from './goals/goal-files.ts'
export { checkProtectedGlobs } from './goals/protected-globs.ts'
