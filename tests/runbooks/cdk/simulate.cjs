// Runs runbooks by the simulation of @cdklabs/cdk-ssm-documents, as a second opinion on the sandbox's executor.
//
// Speaks JSON lines with the process that started it. A line in {"runbook": {...}, "parameters": {...}, "environment":
// {...}} starts a run, whose scripts have that environment. A
// line out {"call": {service, operation, parameters}} is an API call that is to be made; the line in that answers it is
// {"answer": ...} or {"error": text}. The last line out of a run is {"result": {succeeded, steps, outputs}}, or
// {"crash": text} if the package cannot run the runbook. It ends at the end of its input.
//
// The package reads whole documents too (StringDocument), but drops nextStep and onFailure there, and does not know
// aws:invokeLambdaFunction. So each step is built by its class here, from what the runbooks use. The package does not have:
// isEnd on a branch that may jump, outputs that a selector does not find, isCritical, system variables but dates and id.
// It puts values into inputs as text of JSON, unescaped, so that a policy breaks the JSON: that is done here instead.
// It converts no types: an output that declares another type than the response has is an error.
// It has no aws:loop, so the loop's steps run once, as they do in a run that waits for no other run.
// It runs a script with the Python that it finds first in PATH, and leaves the script's file in TMPDIR.
"use strict";

const fs = require("node:fs");

// Whatever the package has to say goes to standard error; standard output is for the lines above.
console.log = console.error;
const cdk = require("aws-cdk-lib");
const ssm = require("@cdklabs/cdk-ssm-documents");

let unread = "";

function readLine() {
  const chunk = Buffer.alloc(65536);
  while (!unread.includes("\n")) {
    const size = fs.readSync(0, chunk, 0, chunk.length, null);
    if (size === 0) process.exit(0);
    unread += chunk.toString("utf8", 0, size);
  }
  const end = unread.indexOf("\n");
  const line = unread.slice(0, end);
  unread = unread.slice(end + 1);
  return JSON.parse(line);
}

function writeLine(value) {
  fs.writeSync(1, `${JSON.stringify(value)}\n`);
}

const invoker = {
  invoke({ service, awsApi, awsParams }) {
    writeLine({ call: { service: service.namespace, operation: awsApi, parameters: awsParams } });
    const { answer, error } = readLine();
    if (error !== undefined) throw new Error(error);
    return answer;
  },
};

const sleeper = { sleep: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5) };

function reference(text) {
  const match = /^\{\{\s*([^{}]+?)\s*\}\}$/.exec(text);
  if (match === null) throw new Error(`${text} is not one reference`);
  return match[1];
}

function condition(raw) {
  return new ssm.Choice({
    variable: new ssm.StringVariable(reference(raw.Variable)),
    operation: ssm.OperationEvaluator.fromOperationName("StringEquals"),
    constant: raw.StringEquals,
    jumpToStepName: raw.NextStep,
  });
}

function fallback(value) {
  if (value === undefined || value === "Abort") return ssm.OnFailure.abort();
  return value === "Continue" ? ssm.OnFailure.continue() : ssm.OnFailure.invokeStepByName(value.replace("step:", ""));
}

function shared(raw) {
  return {
    name: raw.name,
    isEnd: raw.isEnd,
    maxAttempts: raw.maxAttempts,
    timeoutSeconds: raw.timeoutSeconds,
    onFailure: fallback(raw.onFailure),
    explicitNextStep: raw.nextStep === undefined ? undefined : ssm.StepRef.fromName(raw.nextStep),
  };
}

function outputs(raw) {
  return (raw.outputs ?? []).map(({ Name, Selector, Type }) => ({
    name: Name,
    selector: Selector,
    outputType: ssm.DataType.fromDataType(Type ?? "String").dataTypeEnum,
  }));
}

// A string that is one reference becomes the value itself; within a longer string, the value's text.
function resolve(value, inputs) {
  if (Array.isArray(value)) return value.map((each) => resolve(each, inputs));
  if (value !== null && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolve(each, inputs)]));
  if (typeof value !== "string") return value;
  const whole = /^\{\{\s*([^{}]+?)\s*\}\}$/.exec(value);
  if (whole !== null) return inputs[whole[1]];
  return value.replace(/\{\{\s*([^{}]+?)\s*\}\}/g, (_, name) => String(inputs[name]));
}

function names(value) {
  const text = JSON.stringify(value);
  return [...text.matchAll(/\{\{\s*([^{}]+?)\s*\}\}/g)].map((match) => match[1]);
}

// A value of an InputPayload, for the package's step that runs scripts.
function input(value) {
  return { requiredInputs: () => names(value), resolve: (inputs) => resolve(value, inputs) };
}

function withValues(step) {
  step.apiParams.resolveToDict = (inputs) => resolve(step.apiParams.format, inputs);
  return step;
}

function api(raw, Service, Api, apiParams) {
  const service = new ssm.AwsService(Service, Service);
  return { ...shared(raw), service, pascalCaseApi: Api, apiParams };
}

const BUILDERS = {
  "aws:executeAwsApi": (stack, raw) => {
    const { Service, Api, ...rest } = raw.inputs;
    return new ssm.AwsApiStep(stack, raw.name, { ...api(raw, Service, Api, rest), outputs: outputs(raw) });
  },
  "aws:branch": (stack, raw) =>
    new ssm.BranchStep(stack, raw.name, {
      ...shared(raw),
      choices: raw.inputs.Choices.map(condition),
      defaultStepName: raw.inputs.Default,
    }),
  // The package's own step has no outputs of the author's; the call is the same.
  "aws:invokeLambdaFunction": (stack, raw) => {
    const { InputPayload, ...rest } = raw.inputs;
    const parameters = { ...rest, Payload: InputPayload ?? rest.Payload ?? {} };
    const text = { name: "Payload", selector: "$.PayloadText", outputType: ssm.DataTypeEnum.STRING };
    const found = [...outputs(raw), text];
    return new ssm.AwsApiStep(stack, raw.name, { ...api(raw, "lambda", "Invoke", parameters), outputs: found });
  },
  "aws:executeScript": (stack, raw) => {
    const { Runtime, Handler, Script, InputPayload } = raw.inputs;
    return new ssm.ExecuteScriptStep(stack, raw.name, {
      ...shared(raw),
      language: ssm.ScriptLanguage.fromRuntime(Runtime, Handler),
      code: ssm.ScriptCode.inline(Script),
      inputPayload: Object.fromEntries(Object.entries(InputPayload ?? {}).map(([name, each]) => [name, input(each)])),
      outputs: outputs(raw),
    });
  },
  "aws:sleep": (stack, raw) => new ssm.SleepStep(stack, raw.name, { ...shared(raw), sleepSeconds: 1 }),
};

// A step in place of the loop, and the loop's steps.
function once(raw) {
  return raw.action === "aws:loop" ? [{ ...raw, action: "aws:sleep" }, ...raw.inputs.Steps] : [raw];
}

function build(runbook) {
  const stack = new cdk.Stack(new cdk.App(), "SecondOpinion");
  const docInputs = Object.entries(runbook.parameters ?? {}).map(([name, each]) =>
    ssm.Input.ofSpecifiedType(ssm.DataType.fromDataType(each.type).dataTypeEnum, name, {
      ...each,
      defaultValue: each.default,
    }),
  );
  const document = new ssm.AutomationDocument(stack, "Document", { documentName: "Document", docInputs });
  for (const raw of runbook.mainSteps.flatMap(once)) {
    if (!(raw.action in BUILDERS)) throw new Error(`the package cannot run ${raw.action}`);
    const step = BUILDERS[raw.action](stack, raw);
    document.addStep(step.apiParams === undefined ? step : withValues(step));
  }
  return document;
}

let steps = [];
const invoke = ssm.AutomationStepSimulation.prototype.invoke;
ssm.AutomationStepSimulation.prototype.invoke = function record(inputs) {
  steps.push(this.step.name);
  return invoke.call(this, inputs);
};

function run({ runbook, parameters, environment }) {
  steps = [];
  Object.assign(process.env, environment);
  const document = build(runbook);
  const simulation = ssm.Simulation.ofAutomation(document, { awsInvoker: invoker, sleepHook: sleeper });
  const { responseCode, outputs: found, stackTrace } = simulation.simulate(parameters);
  const succeeded = responseCode === ssm.ResponseCode.SUCCESS;
  writeLine({ result: { succeeded, steps, outputs: found ?? {}, failure: stackTrace ?? "" } });
}

for (;;) {
  const request = readLine();
  try {
    run(request);
  } catch (error) {
    writeLine({ crash: error.stack });
  }
}
