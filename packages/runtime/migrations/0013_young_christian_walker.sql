CREATE TABLE "svc"."trigger_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"trigger_id" text NOT NULL,
	"state" text NOT NULL,
	"event" text,
	"sender_id" text,
	"dedupe_key" text,
	"dedupe_until" timestamp with time zone,
	"request" text,
	"bytes" integer NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"run_id" text,
	"queue_id" text,
	"problem" text,
	"redelivery_of" text,
	"armed_by" text,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "svc"."triggers" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"target_kind" text NOT NULL,
	"target" text NOT NULL,
	"enabled" boolean NOT NULL,
	"settings" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "svc"."trigger_deliveries" ADD CONSTRAINT "trigger_deliveries_trigger_id_triggers_id_fk" FOREIGN KEY ("trigger_id") REFERENCES "svc"."triggers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "trigger_deliveries_once" ON "svc"."trigger_deliveries" USING btree ("trigger_id","dedupe_key");--> statement-breakpoint
CREATE INDEX "trigger_deliveries_recent" ON "svc"."trigger_deliveries" USING btree ("trigger_id","received_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "trigger_deliveries_due" ON "svc"."trigger_deliveries" USING btree ("next_at") WHERE state in ('pending', 'failed');