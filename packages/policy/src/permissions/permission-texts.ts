// Why a call is denied, or why a person must approve it. Models and people read these.

/** A rule denies it. */
export const deniedByRule = (rule: string): string => `Denied by the rule ${rule}.`
/** @param denied A sentence that names the rule. */
export const doNotBypass = (denied: string): string =>
  `${denied} Do not try to bypass it. Continue without this call, or report that you need it.`
/** The same for a tool that the model called by another name. */
export const deniedAsCalled = (rule: string, name: string): string =>
  `Denied by the rule ${rule}, because it was called as ${name}.`
/** A call that needs approval while nobody can be asked. `why`: one or more sentences. */
export const notAllowed = (why: string): string =>
  `Not allowed: ${why} Continue without it, or report that you need this permission.`
export const deniedInPlanMode = (tool: string): string =>
  `Plan mode: ${tool} is denied, because nothing may be changed until the plan is approved. Continue with tools that only read.`

// Why a person decides. Lower case at the start: models read them after "Not allowed:".

export const askedByRule = (rule: string): string => `the rule ${rule} requires approval of this call.`
export const askedByHook = 'a hook requires approval of this call.'
export const askedByTool = (tool: string): string => `the tool ${tool} requires approval of this call.`
/** @param doubt Why the effect of the command cannot be determined. */
export const denyRulesUncheckable = (doubt: string): string =>
  `${doubt}, so the deny rules cannot be checked for it. Write the command in a simpler way.`
export const filesUnknown = (part: string, why: string): string =>
  `it is unknown which files ${part} uses (${why}), so the deny rules for files cannot be enforced. In a sandbox (--sandbox) they are.`
export const filesUnknownHere = (why: string): string =>
  `${why}, so the deny rules for files cannot be enforced without a sandbox`
export const needsNamedRule = (tool: string, path: string): string =>
  `${path} can run programs or change settings later, so ${tool} needs a rule that names it.`
export const noRuleForPath = (tool: string, path: string): string => `no rule allows ${tool} on ${path}.`
export const noRuleForFetch = (host: string): string => `no rule allows fetching from ${host}.`
export const noRuleForSearch = (domains: readonly string[]): string =>
  `no rule allows searching ${domains.length === 0 ? 'the web' : domains.join(', ')}.`
export const noRuleForTool = (tool: string): string => `no rule allows ${tool}.`
export const rulesThatAllow = (rules: readonly string[]): string =>
  rules.length === 1 ? `The rule ${rules[0]} would allow it.` : `The rules ${rules.join(', ')} would allow it.`

// Calls that are questions to a person.

export const personAnswers = 'only the user can answer its questions.'
export const personChoosesPlanning = 'the user decides whether to plan first.'
export const personApprovesPlan = 'the user decides whether the plan is approved.'
export const alreadyPlanning = 'Plan mode is already on. When the plan is complete, call ExitPlanMode with it.'
export const notPlanning = 'Plan mode is off, so there is no plan to approve. Continue with the task.'

/** @param question A sentence, @param why the end of one. */
export const triedInVain = (question: string, why: string): string =>
  `${question} A trial without effects did not settle it: ${why}.`
