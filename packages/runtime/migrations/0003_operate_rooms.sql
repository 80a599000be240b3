CREATE TABLE "svc"."activity" (
	"id" uuid PRIMARY KEY NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"operation" text NOT NULL,
	"actor_id" text NOT NULL,
	"actor_name" text NOT NULL,
	"role" text,
	"source" text NOT NULL,
	"target" jsonb NOT NULL,
	"request_id" text,
	"asked_by" text,
	"before" jsonb,
	"after" jsonb
);
--> statement-breakpoint
CREATE TABLE "svc"."catalog_overrides" (
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"model" text,
	"is_hidden" boolean DEFAULT false NOT NULL,
	"updated_by" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "catalog_overrides_kind_name_pk" PRIMARY KEY("kind","name")
);
--> statement-breakpoint
CREATE TABLE "svc"."config_revisions" (
	"key" text NOT NULL,
	"revision" integer NOT NULL,
	"is_unset" boolean DEFAULT false NOT NULL,
	"value" jsonb,
	"changed_by" text NOT NULL,
	"changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "config_revisions_key_revision_pk" PRIMARY KEY("key","revision")
);
--> statement-breakpoint
CREATE TABLE "svc"."logs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "svc"."logs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone NOT NULL,
	"level" integer NOT NULL,
	"message" text NOT NULL,
	"run_id" uuid,
	"session_id" uuid,
	"name" text,
	"step" text,
	"request_id" text,
	"fields" jsonb
);
--> statement-breakpoint
CREATE TABLE "svc"."prompt_publications" (
	"prompt_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"version" integer NOT NULL,
	"published_by" text NOT NULL,
	"published_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "prompt_publications_prompt_id_n_pk" PRIMARY KEY("prompt_id","n")
);
--> statement-breakpoint
CREATE TABLE "svc"."prompt_versions" (
	"prompt_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"text" text NOT NULL,
	"note" text,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "prompt_versions_prompt_id_version_pk" PRIMARY KEY("prompt_id","version")
);
--> statement-breakpoint
CREATE TABLE "svc"."prompts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"owner_kind" text NOT NULL,
	"owner_name" text NOT NULL,
	"key" text NOT NULL,
	"name" text NOT NULL,
	"note" text,
	"latest_version" integer NOT NULL,
	"published_version" integer,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."used_once" (
	"purpose" text NOT NULL,
	"value" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "used_once_purpose_value_pk" PRIMARY KEY("purpose","value")
);
--> statement-breakpoint
ALTER TABLE "svc"."secrets" ADD COLUMN "set_by" text;--> statement-breakpoint
ALTER TABLE "svc"."secrets" ADD COLUMN "last_used_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "svc"."sessions" ADD COLUMN "asked_by" text;--> statement-breakpoint
ALTER TABLE "svc"."prompt_publications" ADD CONSTRAINT "prompt_publications_prompt_id_prompts_id_fk" FOREIGN KEY ("prompt_id") REFERENCES "svc"."prompts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."prompt_versions" ADD CONSTRAINT "prompt_versions_prompt_id_prompts_id_fk" FOREIGN KEY ("prompt_id") REFERENCES "svc"."prompts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "activity_by_operation" ON "svc"."activity" USING btree ("operation","id");--> statement-breakpoint
CREATE INDEX "logs_by_run" ON "svc"."logs" USING btree ("run_id","id");--> statement-breakpoint
CREATE INDEX "logs_by_time" ON "svc"."logs" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "prompts_by_owner" ON "svc"."prompts" USING btree ("owner_kind","owner_name","key");--> statement-breakpoint
CREATE INDEX "used_once_by_expiry" ON "svc"."used_once" USING btree ("expires_at");