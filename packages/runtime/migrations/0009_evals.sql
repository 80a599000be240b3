CREATE TABLE "svc"."eval_cases" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"target_kind" text NOT NULL,
	"target_name" text NOT NULL,
	"input" jsonb NOT NULL,
	"expected" jsonb,
	"scorers" jsonb NOT NULL,
	"tags" text[] NOT NULL,
	"note" text,
	"from_run_id" text,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."eval_results" (
	"eval_run_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"sample" integer NOT NULL,
	"run_id" text,
	"passed" boolean NOT NULL,
	"score" double precision NOT NULL,
	"cells" jsonb NOT NULL,
	"error" text,
	"latency_ms" integer,
	"input_tokens" integer NOT NULL,
	"output_tokens" integer NOT NULL,
	"scored_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "eval_results_eval_run_id_position_sample_pk" PRIMARY KEY("eval_run_id","position","sample")
);
--> statement-breakpoint
CREATE TABLE "svc"."eval_run_cases" (
	"eval_run_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"case_id" uuid NOT NULL,
	"snapshot" jsonb NOT NULL,
	CONSTRAINT "eval_run_cases_eval_run_id_position_pk" PRIMARY KEY("eval_run_id","position")
);
--> statement-breakpoint
CREATE TABLE "svc"."eval_runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"suite_id" uuid,
	"suite_name" text NOT NULL,
	"plan" jsonb NOT NULL,
	"planned" integer NOT NULL,
	"status" text NOT NULL,
	"passed" boolean,
	"score" double precision,
	"summary" jsonb,
	"error" text,
	"started_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "svc"."eval_suite_cases" (
	"suite_id" uuid NOT NULL,
	"case_id" uuid NOT NULL,
	"position" integer NOT NULL,
	CONSTRAINT "eval_suite_cases_suite_id_case_id_pk" PRIMARY KEY("suite_id","case_id")
);
--> statement-breakpoint
CREATE TABLE "svc"."eval_suites" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"note" text,
	"settings" jsonb NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "svc"."eval_results" ADD CONSTRAINT "eval_results_eval_run_id_eval_runs_id_fk" FOREIGN KEY ("eval_run_id") REFERENCES "svc"."eval_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."eval_run_cases" ADD CONSTRAINT "eval_run_cases_eval_run_id_eval_runs_id_fk" FOREIGN KEY ("eval_run_id") REFERENCES "svc"."eval_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."eval_runs" ADD CONSTRAINT "eval_runs_suite_id_eval_suites_id_fk" FOREIGN KEY ("suite_id") REFERENCES "svc"."eval_suites"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."eval_suite_cases" ADD CONSTRAINT "eval_suite_cases_suite_id_eval_suites_id_fk" FOREIGN KEY ("suite_id") REFERENCES "svc"."eval_suites"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."eval_suite_cases" ADD CONSTRAINT "eval_suite_cases_case_id_eval_cases_id_fk" FOREIGN KEY ("case_id") REFERENCES "svc"."eval_cases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "eval_cases_by_target" ON "svc"."eval_cases" USING btree ("target_kind","target_name","id");--> statement-breakpoint
CREATE INDEX "eval_runs_by_suite" ON "svc"."eval_runs" USING btree ("suite_id","id");--> statement-breakpoint
CREATE INDEX "eval_suite_cases_by_case" ON "svc"."eval_suite_cases" USING btree ("case_id");--> statement-breakpoint
CREATE UNIQUE INDEX "eval_suites_by_name" ON "svc"."eval_suites" USING btree ("name");