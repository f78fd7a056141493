// Why a command needs approval, or why it needs none. Models read these after "Not allowed:", people in questions and in `halting permissions`.

// What allows a command.

export const setsShellVariablesOnly = 'it only sets variables of this shell'
export const readsConfined = 'it only reads, and runs confined'
export const changesNothingRuled = 'it changes nothing that needs a rule'
export const runsInSandbox = 'it runs in the sandbox'
export const byRule = (rule: string): string => `the rule ${rule}`
export const byBypassMode = 'the mode bypassPermissions'
export const readingAllowed = 'reading there is allowed'
export const writingAllowed = 'writing there is allowed'

export const runsInWorkspace = 'it runs confined to the workspace'

// Why it asks although it would be confined to the workspace.

export const asksOutside = 'the model asks to run it unconfined'
export const runsBesideConversation = 'it would continue to run in the background'
export const needsNetwork = (program: string): string =>
  `${program} needs the network, which confined commands do not have`
export const worksOutside = (program: string): string =>
  `${program} needs access outside of the workspace, which confined commands do not have`
export const rewritesTree = (command: string): string =>
  `${command} rewrites files, and could fail halfway at a protected one`
export const changesRepository = (command: string): string =>
  `${command} changes more of the repository than its index and history`
export const gitBesideUnknown = (command: string, other: string): string =>
  `${command} writes to the repository, and it is not known what ${other} does there`
export const gitRunsHook = (command: string, hook: string): string => `${command} would run the hook ${hook}`
export const gitSigns = (command: string): string =>
  `${command} creates a signature, and confined commands do not have your keys`

// No rule allows it.

export const noRuleForCommand = 'no rule allows this command'
export const noRuleForPart = 'no rule allows it'
export const noRuleForReading = (path: string): string => `no rule allows reading ${path}`
export const noRuleForWriting = (path: string): string => `no rule allows writing ${path}`
export const noRuleForChanging = (path: string): string => `no rule allows changing ${path}`

// Its effects are only known at run time.

export const unknownProgram = (word: string): string => `it is only known at run time which command ${word} runs`
export const ruleMayApply = (rule: string): string => `it is only known at run time whether the rule ${rule} applies`
export const unknownFolder = 'it is only known at run time in which folder it runs'
export const unknownRepository = 'it is only known at run time in which repository it runs'
export const unknownTarget = 'it is only known at run time which file the redirect uses'
export const unknownFile = 'it is only known at run time which file it uses'
export const unknownFiles = 'it is only known at run time which files it uses'
export const patternMayBeOption = 'a file name that matches the pattern could be an option'

// It may run a command that a rule covers.

export const commandsNotAnalyzed = (variable: string): string => `commands in ${variable} are not analyzed`
export const variableMayRun = (variable: string, rule: string): string =>
  `${variable} may contain a command that the rule ${rule} covers`
export const aliasMayRun = (command: string, rule: string): string =>
  `${command} may be an alias of a command that the rule ${rule} covers`
export const programRenamed = (rule: string): string =>
  `a program that the rule ${rule} covers would run under another name`
export const commandMayRun = (command: string, rule: string): string =>
  `${command} may run a command that the rule ${rule} covers`

// It may use a file that a rule covers.

export const aliasMayChangeFiles = (command: string): string =>
  `${command} may be an alias of a command that changes files`
export const exportsRuledFiles = 'git would export stored versions of files that a rule covers'
export const showsRuledFiles = 'git would show stored versions of files that a rule covers'
export const gitMayChangeRuledFile = 'git may change a file that a rule covers'
export const mayChangeFileOf = (program: string, rule: string): string =>
  `${program} may change a file that the rule ${rule} covers`
export const movedLinkMayReachFile = (program: string): string =>
  `a symbolic link that ${program} moves may then point to a file that a rule covers`
export const mayUseRuledFile = (program: string): string => `${program} may use a file that a rule covers`
export const mayReadRuledFile = 'it may read a file that a rule covers'
export const mayChangeRuledFile = 'it may change a file that a rule covers'
export const linkToRuledFile = 'a symbolic link in it points to a file that a rule covers'

// It reaches files that the line does not name.

export const tooManyFiles = (path: string): string =>
  `${path} has too many files to check, or a file name that is not valid text`
export const movedLinkLeadsElsewhere = (path: string): string =>
  `a symbolic link in ${path} would point elsewhere after the move`
export const followsLinksOut = 'it would follow symbolic links out of that folder'
export const searchesProcesses = 'it would search /proc, which exposes data of other processes'
export const hasHardLinks = 'the file has other hard links, which may be elsewhere'
export const changesWholeFolder = 'it changes the whole working folder'
export const containsProtectedFiles = (path: string): string => `${path} contains protected files`

// The command that chooses a program may be changed.

export const lineMayWriteChoice = 'the command may write a file that decides which program runs'
export const fileMayChooseProgram = (path: string): string => `${path} may decide which program runs`
export const variableInProject = (variable: string): string => `${variable} points into the project`
export const programInProject = (program: string): string => `${program} would run from the project`
export const setsVariableOfOthers = (variable: string): string =>
  `it sets ${variable}, which can change what other commands do`
export const setsVariable = 'it sets an environment variable that programs may react to'
export const definesOrBackgrounds = 'it defines a function or keeps running in the background'

// git and repository settings.

export const gitVariableSet = (variable: string): string => `${variable} is set, which changes what git does`
export const gitFileUnparsable = (file: string): string => `${file} cannot be parsed`
export const gitFileUnreadable = (file: string): string => `${file} cannot be read`
export const gitIndexHook = 'the repository has a hook that git runs when it refreshes its index'
export const gitSettingMayRun = (file: string, setting: string): string =>
  `${file} sets ${setting}, which may run a program or use files elsewhere`
export const repositoryMayChange = 'the command may change the repository before git runs there'
export const gitShowsSecret = (setting: string): string => `git would print a password or a token: ${setting}`

// It cannot be confined.

export const runsUnconfinedByRule = 'a part of it runs unconfined, because a rule allows it'
export const failsConfined = (program: string): string => `${program} does not work when it is confined`
export const tooComplex = (cause: string): string => `${cause}, and the command is too complex to run without a rule`
export const partNeedsRule = (cause: string, part: string): string =>
  `${cause}, and ${part} needs a rule to run unconfined`
export const nothingConfines = (why: string): string =>
  `commands cannot be confined here (${why}), and this one is too complex to run without a rule`
