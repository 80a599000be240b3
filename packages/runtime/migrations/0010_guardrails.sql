CREATE TABLE "svc"."guardrail_hits" (
	"id" uuid PRIMARY KEY NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"rule_id" text NOT NULL,
	"rule_name" text NOT NULL,
	"side" text NOT NULL,
	"action" text NOT NULL,
	"place" text NOT NULL,
	"run_id" uuid,
	"count" integer NOT NULL,
	"reason" text,
	"is_applied" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."guardrails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"note" text,
	"position" integer NOT NULL,
	"check" jsonb NOT NULL,
	"sides" jsonb NOT NULL,
	"action" text NOT NULL,
	"attachment" jsonb NOT NULL,
	"enabled" boolean NOT NULL,
	"fail_closed" boolean NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "guardrail_hits_by_rule" ON "svc"."guardrail_hits" USING btree ("rule_id","id");--> statement-breakpoint
CREATE INDEX "guardrail_hits_by_time" ON "svc"."guardrail_hits" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "guardrails_by_name" ON "svc"."guardrails" USING btree ("name");